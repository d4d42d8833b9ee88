// An edit sends only the fields that differ from what its form began with: of two people who change one thing at once,
// neither undoes what the other changed beside it.

export const sendChanges = async <Body extends object>(
  before: Body,
  after: Body,
  send: (changes: Partial<Body>) => Promise<unknown>,
): Promise<void> => {
  const was = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== was.get(name));
  if (changed.length > 0) await send(Object.fromEntries(changed) as Partial<Body>);
};
