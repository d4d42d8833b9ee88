// Completion for shells.

import { completionFor, SHELLS } from "../completion.ts";
import { UsageError } from "../failure.ts";
import type { Verb } from "../verb.ts";

/** The table of commands has this command, too. */
export const completionCommand = (verbs: () => readonly Verb[]): Verb => ({
  name: "completion",
  says: "Prints the completion of all commands for a shell",
  examples: [
    "completion bash > ~/.local/share/bash-completion/completions/signalbox",
    "completion zsh > ~/.zfunc/_signalbox",
    "completion fish > ~/.config/fish/completions/signalbox.fish",
  ],
  args: [{ name: "shell", says: `${SHELLS.join(", ")}; the folder that it is written to must exist` }],
  run: async ({ output }, input) => {
    const given = input.arg("shell");
    const shell = SHELLS.find((one) => one === given);
    if (shell === undefined) throw new UsageError(`the shell is one of ${SHELLS.join(", ")}, not "${given}"`);
    const script = completionFor(shell, verbs());
    output.value({ shell, script }, script);
  },
});
