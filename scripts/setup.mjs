// The start of every npm script: `node scripts/setup.mjs <target.ts> [arguments]`. Installs what package-lock.json
// names if node_modules is missing or older, then runs the target on the pinned Node, with the target's exit code. A
// server is run from its bundle, after what has changed is built.
// Plain JavaScript, because the machine's Node may be too old to strip types. Invariant: if the process that started
// this is killed, so is what this started; nothing keeps a port.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isBuilt } from "../self-host/build/built.mjs";
import { isServer, Lives, SERVER, startsServers } from "./keep-serving.mjs";
import { isAlive, withLock } from "./lock.mjs";
import { USAGE } from "./usage.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const MODULES = path.join(ROOT, "node_modules");
const BIN = path.join(MODULES, ".bin");
/** Node's own binary, one package per platform: npm installs this machine's and checks its hash. */
const NODE_PACKAGE = `${process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node"}-${
  process.platform === "win32" ? "win" : process.platform
}-${process.arch}`;
const PINNED_NODE = path.join(MODULES, NODE_PACKAGE, "bin", process.platform === "win32" ? "node.exe" : "node");
const STAMP = path.join(MODULES, ".signalbox-setup");
const ORPHAN_POLL_MS = 250;
/** The first release of Node 22 that strips types without a flag. */
const OLDEST_NODE = [22, 18];

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function lockfileHash() {
  const hash = createHash("sha256");
  for (const name of ["package.json", "package-lock.json"]) hash.update(readFileSync(path.join(ROOT, name)));
  return hash.update(`${process.platform}-${process.arch}`).digest("hex");
}

/** The Node that the last setup of these packages chose; undefined if there was none. */
function stampedNode(hash) {
  const [stamped, node] = existsSync(STAMP) ? readFileSync(STAMP, "utf8").split(" ") : [];
  if (stamped !== hash) return undefined;
  if (node === "pinned") return existsSync(PINNED_NODE) ? PINNED_NODE : undefined;
  return node === "own" ? process.execPath : undefined;
}

/** True if a manual `npm install` has already installed every locked package: npm writes this list last. */
function isInstalled() {
  const wanted = readJson(path.join(ROOT, "package-lock.json"))?.packages;
  const present = readJson(path.join(MODULES, ".package-lock.json"))?.packages;
  if (!wanted || !present) return false;
  // If dist/ was built elsewhere, as in a container, the build tools may be missing.
  const isOnlyServing = !present["node_modules/wrangler"] && existsSync(path.join(ROOT, "dist/worker/index.js"));
  const isLeftOut = (place, { optional, dev, devOptional }) =>
    place === "" ||
    (optional && place !== `node_modules/${NODE_PACKAGE}`) ||
    (isOnlyServing && (dev || devOptional || optional));
  return Object.entries(wanted).every(
    ([place, entry]) => present[place]?.version === entry.version || isLeftOut(place, entry),
  );
}

/** npm's output goes to stderr, so that stdout has only the script's output. */
function npm(args, cwd = ROOT) {
  const { NODE_ENV: _, ...env } = process.env;
  const cli = process.env.npm_execpath;
  const [command, ...prefix] = cli?.endsWith(".js") ? [process.execPath, cli] : ["npm"];
  const shell = command === "npm" && process.platform === "win32";
  const { status, signal, error } = spawnSync(command, [...prefix, ...args], {
    cwd,
    env,
    shell,
    stdio: ["ignore", 2, 2],
  });
  if (error) throw new Error(`npm could not be started (${error.message}). Install npm 10 or newer.`);
  if (signal === "SIGKILL")
    throw new Error("npm was killed. Has this machine too little memory? It takes up to 800 MB.");
  if (status !== 0) throw new Error(`\`npm ${args.join(" ")}\` failed with ${signal ?? `code ${status}`}.`);
}

function runsTypeScript(node) {
  const { status, stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (status !== 0) return false;
  const [major, minor] = stdout.slice(1).split(".").map(Number);
  return major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
}

/**
 * If no package has Node for this platform, or it does not run here, the machine's own Node is used if it is new
 * enough.
 */
function pickNode() {
  const node = [PINNED_NODE, process.execPath].find(runsTypeScript);
  if (node !== undefined) return node;
  throw new Error(
    `Node ${OLDEST_NODE.join(".")} or newer is needed and could not be installed. Install it and try again.`,
  );
}

/** If the folder is not writable, the check is repeated next time. */
function keepStamp(hash, node) {
  try {
    writeFileSync(STAMP, `${hash} ${node === PINNED_NODE ? "pinned" : "own"}`);
  } catch (error) {
    if (error.code !== "EACCES" && error.code !== "EROFS") throw error;
  }
}

/** Resolves to the Node that runs the scripts. */
async function ensureInstalled() {
  const stamped = stampedNode(lockfileHash());
  if (stamped !== undefined) return stamped;
  return withLock("setup", ROOT, () => {
    const hash = lockfileHash();
    const stampedMeanwhile = stampedNode(hash);
    if (stampedMeanwhile !== undefined) return stampedMeanwhile;
    if (!isInstalled()) {
      console.error("Installing dependencies …");
      // Not `npm ci`, which removes what is there first. This also checks the hashes and leaves the lock file
      // unchanged.
      npm(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]);
    }
    const node = pickNode();
    keepStamp(hash, node);
    return node;
  });
}

/** The parent's parent, if the system tells: npm starts a shell, and the shell starts this. */
function grandparent() {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
  } catch {
    return undefined;
  }
}

/**
 * npm's shell does not pass signals on. If the shell is gone, npm was stopped; if npm is gone and its shell is not, npm
 * was killed. In both cases the child is stopped. With `exec` npm itself is the parent: it passes signals on, and ends
 * after us.
 */
function followNpm(stop) {
  const hasShell = !process.env.npm_lifecycle_script?.startsWith("exec ");
  const born = { parent: process.ppid, grandparent: grandparent() };
  const poll = setInterval(() => {
    // On Windows a process keeps the number of a parent that is gone.
    const isParentGone = process.ppid !== born.parent || !isAlive(born.parent);
    if (!isParentGone && (!hasShell || grandparent() === born.grandparent)) return;
    clearInterval(poll);
    stop(isParentGone ? "SIGTERM" : "SIGKILL");
  }, ORPHAN_POLL_MS);
  poll.unref();
}

/** kill -9 of this process does not reach the child: a shell on a pipe from us kills it then. */
function guardAgainstOrphaning(child) {
  if (process.platform === "win32") return;
  const script = 'read -r _; kill -KILL "$0" 2>/dev/null';
  const guard = spawn("sh", ["-c", script, String(child.pid)], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  guard.on("error", () => {});
  guard.stdin.on("error", () => {});
  child.on("exit", () => guard.kill("SIGKILL"));
}

/** Runs one program after another. Signals go to the one that runs, and nothing begins after one. */
class Running {
  #child;
  isStopping = false;

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => this.#hear(signal));
    if (process.env.npm_lifecycle_event !== undefined) followNpm((signal) => this.stop(signal));
  }

  /** On Windows a signal comes from the console, and so to the child, too, which `kill` would end at once. */
  #hear(signal) {
    if (process.platform === "win32" && this.#child !== undefined) this.isStopping = true;
    else this.stop(signal);
  }

  stop(signal) {
    this.isStopping = true;
    if (this.#child === undefined) process.exit(0);
    this.#child.kill(signal);
  }

  /** Starts a program; `onExit` gets its code or signal. */
  start(node, program, args, { env, stdio, onMessage }, onExit) {
    const child = spawn(node, ["--disable-warning=ExperimentalWarning", path.resolve(ROOT, program), ...args], {
      stdio,
      env,
    });
    this.#child = child;
    if (onMessage) child.on("message", onMessage);
    child.on("error", (error) => {
      console.error(`${program} could not be started: ${error.message}`);
      process.exit(1);
    });
    child.on("exit", (code, signal) => {
      this.#child = undefined;
      onExit(code, signal);
    });
    if (child.pid !== undefined) guardAgainstOrphaning(child);
  }
}

const INHERITED = ["inherit", "inherit", "inherit"];
const exitCodeOf = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0);

function run(node, target, args) {
  const env = { ...process.env, PATH: `${BIN}${path.delimiter}${process.env.PATH ?? ""}` };
  const running = new Running();
  const runOnce = (program, programArgs, onSuccess) =>
    running.start(node, program, programArgs, { env, stdio: INHERITED }, (code, signal) => {
      if (code === 0 && onSuccess !== undefined && !running.isStopping) onSuccess();
      else process.exit(exitCodeOf(code, signal));
    });
  const lives = new Lives();
  const serve = () => {
    const life = {
      env: { ...env, ...lives.begin() },
      stdio: [...INHERITED, "ipc"],
      onMessage: (message) => lives.hear(message),
    };
    running.start(node, SERVER, args, life, (code, signal) => {
      const pauseMs = running.isStopping ? null : lives.pauseAfter(code, signal);
      if (pauseMs === null) process.exit(exitCodeOf(code, signal));
      setTimeout(serve, pauseMs);
    });
  };
  const begin = isServer(target) && !isHelpAsked ? serve : () => runOnce(target, args);
  const buildArgs = begin === serve ? ["--for-server"] : [];
  if ((begin === serve || startsServers(target)) && !isBuilt(ROOT)) runOnce("scripts/build.ts", buildArgs, begin);
  else begin();
}

const [target, ...args] = process.argv.slice(2);
const isHelpAsked = args.some((one) => one === "--help" || one === "-h");
if (!target) {
  console.error("Usage: node scripts/setup.mjs <script.ts> [arguments]");
  process.exit(2);
}
if (isHelpAsked && Object.hasOwn(USAGE, target)) {
  console.log(USAGE[target]);
  process.exit(0);
}
try {
  run(await ensureInstalled(), target, args);
} catch (error) {
  console.error(`Setup failed: ${error.message}`);
  process.exit(1);
}
