/** Nothing that ordinary objects inherit is in it, unless it is its own. */
export function inheritsNothing(object: object): boolean {
  return Object.getOwnPropertyNames(Object.prototype).every((name) => name in object === Object.hasOwn(object, name));
}
