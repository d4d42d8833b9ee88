// A manual run, and what became of it: it may be skipped or fail, e.g. while the killswitch is engaged.

import { api } from "../api.ts";
import { attempt } from "../state/notice.ts";

export const runNow = (name: string): Promise<boolean> =>
  attempt(
    `run ${name}`,
    async () => {
      const { outcome, reason } = await api.schedules.run(name);
      if (outcome !== "created") throw new Error(`${name} did not run: ${reason ?? outcome}.`);
    },
    `${name} runs now.`,
  );
