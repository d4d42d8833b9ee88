// An edit sends only the fields that differ from what its form began with: of two people who change one thing at once,
// neither undoes what the other changed beside it.

/** The fields of `after` that differ. */
export const changesOf = <Body extends object>(before: Body, after: Body): Partial<Body> => {
  const was = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== was.get(name));
  return Object.fromEntries(changed) as Partial<Body>;
};

export const sendChanges = async <Body extends object>(
  before: Body,
  after: Body,
  send: (changes: Partial<Body>) => Promise<unknown>,
): Promise<void> => {
  const changes = changesOf(before, after);
  if (Object.keys(changes).length > 0) await send(changes);
};
