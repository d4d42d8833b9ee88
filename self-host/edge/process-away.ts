// A missing answer from one of our own workerd processes: an error marked `retryable`, as the platform marks its own. The
// caller knows whether a retry is safe.

/** The process did not answer: it is not there, or ended first. */
export class ProcessAway extends Error {
  readonly retryable = true;
}

export const processAway = (error: Error): ProcessAway => new ProcessAway(error.message, { cause: error });

export const throwAway = (error: Error): never => {
  throw processAway(error);
};
