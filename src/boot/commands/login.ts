/** `surety login`: a link that signs a browser in, from the gateway that runs. */
import { BootError } from "../boot-error.ts";
import type { Action } from "../command.ts";
import { withOperations } from "../connect-assistant.ts";
import { publicUrl } from "../exposure.ts";
import { findAddress } from "../gateway-access.ts";
import { loginLink } from "../login-link.ts";
import { readSettings } from "../settings.ts";

export const command: Action = {
  summary: "print a link that signs a browser in: it counts once, for ten minutes",
  examples: ["surety login"],
  async run(context) {
    const { home, output } = context;
    const { config } = await readSettings(context);
    const address = await findAddress(home);
    if (address === null) throw noGateway();
    await withOperations(context, async (operations, isRemote) => {
      if (!isRemote) throw noGateway();
      const link = await loginLink(operations, publicUrl(config.gateway, address));
      output.result(link, () => output.line(link.url));
    });
  },
};

function noGateway(): BootError {
  return new BootError(
    "gateway.unreachable",
    "no gateway runs on this home",
    "Start it: surety start. It prints a link.",
  );
}
