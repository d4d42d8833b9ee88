// The reader of a process's output, such as a log collector, may end before the process. A server and a worker go on,
// because others wait for their work. Without this, Node would end them at the next line, with an uncaught error.

export const goOnUnread = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
};
