// The scripts of one archive: `npm run backup` and `npm run restore`.

import { fullDiskError } from "../../self-host/data/disk.ts";
import { ExitError, runScript } from "../../self-host/exit-error.ts";

/**
 * Runs `work` on the file that is the only argument; without one, or with more, it prints `usage`. `written`: the folder
 * that it writes to.
 */
export const runOnArchive = (
  usage: string,
  written: (file: string) => string,
  work: (file: string) => Promise<void>,
): Promise<void> =>
  runScript(async () => {
    const [file, ...more] = process.argv.slice(2);
    if (file === undefined || more.length > 0 || file.startsWith("-")) {
      const isAsked = file === "--help" || file === "-h";
      (isAsked ? console.log : console.error)(usage);
      return isAsked ? 0 : 2;
    }
    await work(file).catch((error) => {
      throw error instanceof ExitError ? error : (fullDiskError(error, written(file)) ?? error);
    });
    return 0;
  });
