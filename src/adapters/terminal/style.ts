/** Terminal colours; plain where the output is not a terminal or colours are unwanted. */
import { styleText } from "node:util";

const FORMATS = ["bold", "dim", "red", "green", "yellow", "cyan"] as const;

export type Style = Readonly<Record<(typeof FORMATS)[number], (text: string) => string>>;

export function styleFor(stream: { readonly isTTY?: boolean | undefined }, isColourWelcome: boolean): Style {
  const isColoured = stream.isTTY === true && isColourWelcome;
  const painters = FORMATS.map((format) => [
    format,
    (text: string) => (isColoured ? styleText(format, text, { validateStream: false }) : text),
  ]);
  return Object.fromEntries(painters) as Style;
}
