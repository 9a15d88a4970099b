/**
 * Objects that inherit nothing, for keys that others chose: `constructor` is data like any other. `Object.create(null)`
 * would do, but V8 stores it as a dictionary, several times slower.
 */
class BareObject {
  readonly [key: string]: unknown;
}
Reflect.deleteProperty(BareObject.prototype, "constructor");
Object.setPrototypeOf(BareObject.prototype, null);
Object.freeze(BareObject.prototype);

export function bareObject<Value>(): Record<string, Value> {
  return new BareObject() as Record<string, Value>;
}

/** Plain data: it has no other keys than its own, or none but those that every object has. */
export function isPlainObject(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === BareObject.prototype || prototype === null;
}
