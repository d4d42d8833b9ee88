// The killswitch.

import type { KillswitchResource } from "../../contract/killswitch.ts";
import { KILLSWITCH_LEVELS } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";

const confirmedOf = ({ confirmed_workers, workers_to_confirm }: KillswitchResource): string =>
  `${confirmed_workers} of ${workers_to_confirm}`;

const unconfirmedOf = ({ unconfirmed }: KillswitchResource): string[] =>
  unconfirmed.map(({ instance, status }) => (status === "offline" ? `${instance} (offline)` : instance));

const showKillswitch = async (
  { output }: Context,
  asked: ReturnType<ReturnType<Context["client"]>["killswitch"]["get"]>,
) => {
  const state = await asked;
  output.record(state, [
    ["level", state.level],
    ["active", state.active ? "yes" : "no"],
    ["reason", state.reason],
    ["since", when(state.activated_at)],
    ["by", state.activated_by],
    ["halted jobs", state.active ? state.halted_jobs : null],
    ["confirmed workers", state.active ? confirmedOf(state) : null],
    ["not confirmed", state.active ? unconfirmedOf(state) : null],
  ]);
};

/** The API takes 0 and does nothing: who types it means to clear. */
const ENGAGED_LEVELS = KILLSWITCH_LEVELS.filter((level) => level > 0);

const levelOf = (text: string): number => {
  const level = ENGAGED_LEVELS.find((one) => String(one) === text);
  if (level !== undefined) return level;
  const hint = text === "0" ? ": `signalbox killswitch off` clears it" : `, not "${text}"`;
  throw new UsageError(`the level is one of ${ENGAGED_LEVELS.join(", ")}${hint}`);
};

/** Who stops everything in a hurry must not have to look up how it starts again. */
const AFTER_ON =
  "Workers confirm within seconds: `signalbox killswitch status`. To go on: `signalbox killswitch off --resume-all`. Without --resume-all, workers stay paused until each is resumed.";

export const killswitchCommands: readonly Verb[] = [
  {
    name: "killswitch on",
    says: "Engages the killswitch: 1 stops dispatch, 2 also schedules, 3 also new jobs, 4 cancels all work; `killswitch off` ends it",
    examples: ['killswitch on 4 --reason "runaway loop"', "killswitch on 1"],
    args: [{ name: "level", says: "1 to 4" }],
    flags: { reason: { takes: "words", says: "why; everyone sees it" } },
    run: async (context, input) => {
      const level = levelOf(input.arg("level"));
      const reason = input.text("reason");
      const { killswitch } = context.client();
      await showKillswitch(
        context,
        killswitch.engage({ level, ...(reason === undefined ? {} : { reason }) }, { signal: context.signal }),
      );
      context.output.say(AFTER_ON);
    },
  },
  {
    name: "killswitch off",
    says: "Clears the killswitch; workers stay paused without --resume-all",
    examples: ["killswitch off --resume-all", "killswitch off"],
    flags: { "resume-all": { takes: null, says: "also resumes the workers that it paused" } },
    run: async (context, input) => {
      const resume_all = input.is("resume-all");
      await showKillswitch(context, context.client().killswitch.clear({ resume_all }, { signal: context.signal }));
      if (!resume_all)
        context.output.say(
          "Workers stay paused: `signalbox killswitch off --resume-all` resumes those that it paused.",
        );
    },
  },
  {
    name: "killswitch status",
    says: "Shows whether the killswitch is engaged, and why",
    examples: ["killswitch status"],
    run: (context) => showKillswitch(context, context.client().killswitch.get({ signal: context.signal })),
  },
];
