// A server under its machine's limits: open files, and signals from the processes that start it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { childProcesses } from "../support/child-processes.ts";
import { send } from "../support/requests.ts";
import { freePort, type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SOFT_FILES = 300;
const HARD_FILES = 700;
/** Half of what the hard limit leaves besides databases and logs. */
const CONNECTIONS = 222;

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

const softLimitOf = (pid: number): number =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1]);

test("the soft limit of open files is raised; connections beyond it are turned away, and nothing ends", async () => {
  const limits = ["sh", "-c", `ulimit -Sn ${SOFT_FILES} && ulimit -Hn ${HARD_FILES} && exec "$@"`, "sh"];
  server = await startSelfHosted(data.path, { wrapper: limits });
  const { url, adminKey: key } = server;
  const children = childProcesses(data.path).map(({ pid }) => pid);
  expect(children.map(softLimitOf)).toEqual([HARD_FILES, HARD_FILES]);

  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  let turnedAway = 0;
  for (let count = 0; count < CONNECTIONS * 2; count += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      turnedAway += 1;
    });
    sockets.push(socket);
  }
  await expect.poll(() => turnedAway).toBeGreaterThanOrEqual(CONNECTIONS - 5);
  const [open] = sockets.filter((socket) => !socket.destroyed);
  const answered = new Promise<string>((resolve) => open?.once("data", (chunk) => resolve(String(chunk))));
  open?.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await answered).toContain("HTTP/1.1 200");

  for (const socket of sockets) socket.destroy();
  await expect
    .poll(() =>
      send({ url, key }, "POST", "/api/jobs", { prompt: "goes on" }).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(201);
  expect(childProcesses(data.path).map(({ pid }) => pid)).toEqual(children);
}, 60_000);

/** As `kill` sends it, only to npm; and as a terminal does with Ctrl-C, to the whole group. */
const WAYS = {
  "SIGTERM to npm": (npm: number) => process.kill(npm, "SIGTERM"),
  "Ctrl-C": (npm: number) => process.kill(-npm, "SIGINT"),
};

test.each(Object.entries(WAYS))(
  "%s ends the server with all its processes, and npm after them",
  async (_, end) => {
    const port = await freePort();
    const npm = spawn("npm", ["start", "--silent", "--", "--no-worker"], {
      cwd: ROOT,
      env: { ...process.env, PORT: String(port), SERVICE_DATA_DIR: data.path },
      stdio: "ignore",
      detached: true,
    });
    const ended = new Promise((resolve) => npm.once("exit", resolve));
    try {
      const health = () =>
        fetch(`http://127.0.0.1:${port}/health`).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(health, { timeout: 60_000, interval: 100 }).toBe(200);
      expect(childProcesses(data.path)).toHaveLength(2);
      end(npm.pid as number);
      await ended;
      // Who waits for npm may copy the data folder.
      expect(childProcesses(data.path)).toEqual([]);
      expect(await health()).toBe(0);
    } finally {
      if (npm.pid !== undefined && npm.exitCode === null && npm.signalCode === null) process.kill(-npm.pid, "SIGKILL");
    }
  },
  90_000,
);
