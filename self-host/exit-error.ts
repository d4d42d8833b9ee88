/** A failure that the operator can fix: its message is printed without a stack. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = "ExitError";
    this.exitCode = exitCode;
  }
}

/** Runs a script: sets the exit code, prints an ExitError as one line and a bug with its stack. */
export const runScript = async (main: () => Promise<number>): Promise<void> => {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof ExitError) console.error(error.message);
    else console.error(error);
    process.exitCode = error instanceof ExitError ? error.exitCode : 1;
  }
};
