// The scripts of one archive: `npm run backup` and `npm run restore`.

import { runScript } from "../../self-host/exit-error.ts";

/** Runs `work` on the file that is the only argument; without one, or with more, it prints `usage`. */
export const runOnArchive = (usage: string, work: (file: string) => Promise<void>): Promise<void> =>
  runScript(async () => {
    const [file, ...more] = process.argv.slice(2);
    if (file === undefined || more.length > 0 || file.startsWith("-")) {
      const isAsked = file === "--help" || file === "-h";
      (isAsked ? console.log : console.error)(usage);
      return isAsked ? 0 : 2;
    }
    await work(file);
    return 0;
  });
