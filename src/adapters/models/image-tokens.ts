/**
 * How many tokens an image costs: by the provider's published rule, otherwise rather too many than too few.
 *
 * I1. A family of models with a published rule, recognised by the model's name, uses that rule.
 * I2. Any other model is assumed to use one token per 28 x 28 pixels, from 1,601 to 16,384: what Llama and Qwen count, and
 *     about what Claude and OpenAI's full-sized models do. What is reserved too much is given back.
 * I3. This does not bound every rule. OpenAI's small models multiply their counts, and an unknown one gets the highest
 *     factor; but gpt-4o-mini counts 25,501 for 1024 x 1024, and an unknown model like it would be reserved too little.
 *     The usage that the provider reports is charged in any case.
 *
 * Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision; OpenAI:
 * https://platform.openai.com/docs/guides/images-vision; for other servers https://docs.together.ai/docs/vision-overview
 * (1,601 tokens a tile) and Qwen's processors (a token per 28 x 28 pixels, up to 16,384).
 */
import type { ImageSize } from "../../runtime/model/image-facts.ts";

type CountImage = (size: ImageSize) => number;

/** By the names at their makers and on OpenRouter; the first match counts, so longer names come first. */
const FAMILIES: readonly (readonly [RegExp, CountImage])[] = [
  [/^claude-/, claude],
  [/^gpt-4o-mini(?:-|$)/, tiled(2_833, 5_667)],
  [/^gpt-(?:4\.1|5)-mini(?:-|$)/, patched(1.62)],
  [/^gpt-(?:4\.1|5)-nano(?:-|$)/, patched(2.46)],
  [/^o4-mini(?:-|$)/, patched(1.72)],
  [/^(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-turbo)(?:-|$)/, tiled(85, 170)],
  [/^(?:o1|o1-pro|o3)(?:-\d|$)/, tiled(75, 150)],
  [/^gpt-5(?:-\d|-chat|$)/, tiled(70, 140)],
  [/^(?:gpt-|o\d).*-(?:mini|nano)(?:-|$)/, (size) => Math.max(assumed(size), patched(2.46)(size))],
];

export function imageTokensFor(model: string): CountImage {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return FAMILIES.find(([names]) => names.test(name))?.[1] ?? assumed;
}

const PATCH = 28;
const LEAST = 1_601;
const MOST = 16_384;

function assumed(size: ImageSize): number {
  return Math.min(MOST, Math.max(LEAST, patches(size, PATCH)));
}

/** A token per 28 x 28 pixels, formerly per 750 pixels; larger images are scaled down to 4,784. */
function claude(size: ImageSize): number {
  const byArea = Math.ceil((size.width * size.height) / 750);
  return Math.min(4_784, Math.max(byArea, patches(size, PATCH)));
}

/** Scaled to fit into 2048 x 2048, then to 768 on the shorter side, and cut into tiles of 512. */
function tiled(base: number, perTile: number): CountImage {
  return ({ width, height }) => {
    const fitting = Math.min(1, 2_048 / Math.max(width, height));
    const scale = fitting * Math.min(1, 768 / (Math.min(width, height) * fitting));
    return base + perTile * patches({ width: width * scale, height: height * scale }, 512);
  };
}

/** Scaled down to 1,536 patches of 32. */
function patched(multiplier: number): CountImage {
  return (size) => Math.ceil(Math.min(1_536, patches(size, 32)) * multiplier);
}

function patches({ width, height }: ImageSize, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side);
}
