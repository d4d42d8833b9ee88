// Whoever reads what a process prints may end before it, as a collector that died. A server and a worker go on: others
// wait for what they do, and Node would end them at the next line, as a fault that nobody has caught.

export const goOnUnread = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
};
