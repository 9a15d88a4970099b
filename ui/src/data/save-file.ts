/** Gives a text to the browser as a file to keep. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has the bytes once the click is over.
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}
