/** What the demo model says of images: what their files tell of themselves, and that it sees nothing on them. */
import type { PromptImage } from "../../../runtime/ports/model-backend.ts";

export function tellImages(images: readonly PromptImage[]): string {
  const count = images.length === 1 ? "one image" : `${images.length} images`;
  const list = images.map(({ mimeType, width, height, data }) => {
    return `- ${mimeType}, ${Buffer.byteLength(data, "base64")} bytes, ${width} x ${height} pixels`;
  });
  return `I was given ${count}:\n\n${list.join("\n")}\n\nI am Surety's built-in demo model and see nothing on ${images.length === 1 ? "it" : "them"}: that takes a real model with supportsVision. Say "help" to see how to set one up.`;
}
