// V8 forgets the shape of objects when it collects garbage while none of them is left, and with it all code that it
// compiled for them. A turn's objects live for a moment, so each collection under load threw a hundred compiled functions
// away. An object literal keeps its shape; one that is made by spreading, by a schema or by a class does not.

/** Returns what it is given, and holds the newest, so that its shape is kept. */
export const shapeKeeper = <T>(): ((made: T) => T) => {
  let newest: T | null = null;
  return (made) => {
    newest = made;
    return newest;
  };
};
