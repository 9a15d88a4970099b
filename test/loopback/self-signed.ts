/** A key and a certificate for one name, signed by itself, made here: no program of the system is needed for it. */
import { generateKeyPairSync, sign } from "node:crypto";

const TAG = { boolean: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, time: 0x18 } as const;
const SEQUENCE = 0x30;
const SET = 0x31;
const explicit = (number: number): number => 0xa0 + number;

const OID = {
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  basicConstraints: [0x55, 0x1d, 0x13],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
} as const;
const DNS_NAME = 0x82;

export function selfSigned(name: string): { readonly key: string; readonly certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(SEQUENCE, oid("ecdsaWithSha256"));
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, oid("commonName"), der(TAG.utf8, Buffer.from(name)))));
  const body = der(
    SEQUENCE,
    der(explicit(0), der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.of(1)),
    algorithm,
    subject,
    der(SEQUENCE, time("20200101000000Z"), time("20990101000000Z")),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      explicit(3),
      der(
        SEQUENCE,
        extension("basicConstraints", der(SEQUENCE, der(TAG.boolean, Buffer.of(0xff)))),
        extension("subjectAltName", der(SEQUENCE, der(DNS_NAME, Buffer.from(name)))),
      ),
    ),
  );
  const signature = der(TAG.bits, Buffer.of(0), sign("sha256", body, privateKey));
  const bytes = der(SEQUENCE, body, algorithm, signature);
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
}

function oid(name: keyof typeof OID): Buffer {
  return der(TAG.oid, Buffer.from(OID[name]));
}

function time(text: string): Buffer {
  return der(TAG.time, Buffer.from(text));
}

function extension(name: keyof typeof OID, value: Buffer): Buffer {
  return der(SEQUENCE, oid(name), der(TAG.octets, value));
}
