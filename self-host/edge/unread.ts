// What all clients together leave unread of their answers and sockets. A client that stops reading costs the bytes of
// what it asked for, and many such clients would fill the process: above the bound those furthest behind are cut off.

/** Clients that read leave less: a burst is with the system by the next look. */
export const MAX_UNREAD_BYTES_OF_ALL = 128 * 1024 * 1024;
/** Less is on its way rather than left. */
const BEHIND_BYTES = 64 * 1024;
const LOOK_EVERY_MS = 250;

/** A client's connection; `writableLength` are the bytes that the system has not taken. */
interface Connection {
  readonly writableLength: number;
  readonly destroy: () => unknown;
}

/** Looks again and again; the result ends that. */
export const cutFurthestBehind = (
  connections: Iterable<Connection>,
  bound: number = MAX_UNREAD_BYTES_OF_ALL,
): (() => void) => {
  let wereBehind = new Set<Connection>();
  const look = (): void => {
    const behind = [...connections].filter(({ writableLength }) => writableLength > BEHIND_BYTES);
    const slow = behind.filter((connection) => wereBehind.has(connection));
    wereBehind = new Set(behind);
    let sum = slow.reduce((all, { writableLength }) => all + writableLength, 0);
    for (const connection of slow.sort((a, b) => b.writableLength - a.writableLength)) {
      if (sum <= bound) return;
      sum -= connection.writableLength;
      connection.destroy();
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
};
