/** A conversation is sent again with every turn, a little longer each time: what was written stays written. */
export function writeOnce<Item extends object>(write: (item: Item) => string): (item: Item) => string {
  const written = new WeakMap<Item, string>();
  return (item) => {
    const known = written.get(item);
    if (known !== undefined) return known;
    const text = write(item);
    written.set(item, text);
    return text;
  };
}
