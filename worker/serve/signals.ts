// SIGTERM and SIGINT drain every worker of this process, which then ends as it would without them. A second signal ends
// it at once. A program that listens to the signal itself decides itself when it ends.

type Drain = () => Promise<void>;

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const draining = new Set<Drain>();
let isLeaving = false;

const handle = (signal: NodeJS.Signals): void => {
  const isOursAlone = process.listenerCount(signal) === 1;
  if (isLeaving) {
    if (isOursAlone) process.exit(1);
    return;
  }
  isLeaving = true;
  void Promise.all([...draining].map((drain) => drain())).then(() => {
    if (isOursAlone) process.exit();
  });
};

/** @returns what takes it back. */
export const drainOnSignal = (drain: Drain): (() => void) => {
  if (draining.size === 0) for (const signal of SIGNALS) process.on(signal, handle);
  draining.add(drain);
  return () => {
    draining.delete(drain);
    if (draining.size === 0 && !isLeaving) for (const signal of SIGNALS) process.off(signal, handle);
  };
};
