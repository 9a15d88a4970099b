/** Made when it is first asked for, and kept: most texts never need what finds a secret, since they hold none. */
export function madeOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
