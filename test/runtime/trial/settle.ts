/** Everything that can happen without the disk has happened: for tests of what must not happen before it answers. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
