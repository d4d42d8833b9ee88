// The ways to add a worker: what a person runs on its machine, as text to copy.

import { npmInstall, npx, packageAt } from "../../contract/words/version.ts";
import { WHEEL_NAME } from "../../contract/words/wheel.ts";

export interface Wish {
  readonly way: WayName;
  readonly name: string;
  readonly runtime: string;
  readonly tags: string;
}

interface Way {
  readonly label: string;
  readonly needs: string;
  /** What to run, and with which program; `origin` is the coordinator's address. */
  readonly text: (wish: Wish, origin: string) => string;
}

const listed = (tags: string): string =>
  tags
    .split(",")
    .filter((tag) => tag !== "")
    .map((tag) => JSON.stringify(tag))
    .join(", ");

const flags = ({ name, tags }: Wish): string => `--instance ${name}${tags === "" ? "" : ` --tags ${tags}`}`;

export const WAYS = {
  runtime: {
    label: "A model runtime",
    needs: "Node 20 or later",
    text: (wish, origin) => `${npx(packageAt(origin))} worker --runtime ${wish.runtime} ${flags(wish)}`,
  },
  exec: {
    label: "Any command",
    needs: "Node 20 or later",
    text: (wish, origin) => `${npx(packageAt(origin))} worker --exec 'tr a-z A-Z' --provider upper ${flags(wish)}`,
  },
  python: {
    label: "A Python function",
    needs: "Python 3.9 or later",
    text: ({ name, tags }, origin) => `python3 -m venv venv && venv/bin/pip install ${origin}/${WHEEL_NAME}
cat > worker.py <<'END'
from signalbox import run, worker

@worker(provider="upper", instance="${name}", tags=[${listed(tags)}])
def upper(job, ctx):
    return job["prompt"].upper()

run()
END
venv/bin/python worker.py`,
  },
  typescript: {
    label: "A TypeScript function",
    needs: "Node 20 or later",
    text: ({ name, tags }, origin) => `${npmInstall(packageAt(origin))}
cat > worker.mjs <<'END'
import { serve } from 'signalbox/worker';

await serve({ provider: "upper", instance: "${name}", tags: [${listed(tags)}] }, (job) => job.prompt.toUpperCase());
END
node worker.mjs`,
  },
} as const satisfies Readonly<Record<string, Way>>;

export type WayName = keyof typeof WAYS;

export const WAY_OPTIONS = (Object.keys(WAYS) as WayName[]).map((name) => [name, WAYS[name].label] as const);

/** The whole text: address and key first. */
export const commandFor = (wish: Wish, origin: string, key: string): string =>
  `export SERVICE_API_URL=${origin} SERVICE_API_KEY=${key}\n${WAYS[wish.way].text(wish, origin)}`;
