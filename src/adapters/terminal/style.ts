/** Terminal colours; plain where the output is not a terminal or colours are unwanted. */
type Paint = (text: string) => string;

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
}

const plain: Paint = (text) => text;
const PLAIN: Style = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain };
const COLOURED: Style = {
  bold: painted(1, 22),
  dim: painted(2, 22),
  red: painted(31, 39),
  green: painted(32, 39),
  yellow: painted(33, 39),
};

export function styleFor(stream: { readonly isTTY?: boolean | undefined }, isColourWelcome: boolean): Style {
  return stream.isTTY === true && isColourWelcome ? COLOURED : PLAIN;
}

function painted(on: number, off: number): Paint {
  return (text) => `\u001b[${on}m${text}\u001b[${off}m`;
}
