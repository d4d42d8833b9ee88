// Ends the commands of a worker that died without ending them itself, as by kill -9: a shell that reads which groups
// live, and ends them when its line to the worker breaks off. Windows has none.

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { childEnvironment } from "./child-environment.ts";

/** `live` has a space on both sides of each group, so that one is found whole. */
const SCRIPT = `
live=" "
while read -r word group; do
  case "$word" in
    begin) live="$live$group " ;;
    end) case "$live" in *" $group "*) live="\${live%% $group *} \${live#* $group }" ;; esac ;;
  esac
done
[ "$live" = " " ] && exit
for group in $live; do kill -s TERM -- "-$group"; done
sleep "$1"
for group in $live; do kill -s KILL -- "-$group"; done
`;

export class Keeper {
  #shell: ChildProcess | null = null;
  #isAway = process.platform === "win32";

  begin(group: number, graceMs: number): void {
    if (this.#isAway) return;
    this.#shell ??= this.#start(graceMs);
    this.#tell(`begin ${group}`);
  }

  end(group: number): void {
    this.#tell(`end ${group}`);
  }

  #tell(line: string): void {
    if (!this.#isAway) this.#shell?.stdin?.write(`${line}\n`);
  }

  #start(graceMs: number): ChildProcess {
    const shell = spawn("/bin/sh", ["-c", SCRIPT, "sh", String(Math.ceil(graceMs / 1000))], {
      // In a session of its own, which the signals of a terminal do not reach.
      detached: true,
      env: childEnvironment(process.env),
      stdio: ["pipe", "ignore", "ignore"],
    });
    const leave = () => {
      this.#isAway = true;
    };
    shell.on("error", leave);
    shell.on("exit", leave);
    shell.stdin?.on("error", leave);
    shell.unref();
    // Bun's has no such method, and holds nobody.
    (shell.stdin as Partial<Socket> | null)?.unref?.();
    return shell;
  }
}
