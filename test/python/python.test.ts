// The Python package, as the coordinator serves it, used from its wheel by the machine's python3 (and by another one
// in SIGNALBOX_PYTHON): workers of every kind of handler, and the client.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../contract/client.ts";
import { VERSION } from "../../contract/words/version.ts";
import { WHEEL_NAME } from "../../contract/words/wheel.ts";
import { wheelOf } from "../../self-host/build/wheel.ts";
import { eventually } from "../support/eventually.ts";
import { lacks, lacksPython, type Program, PYTHON, startProgram } from "../support/python.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { WORKER } from "./worker-program.ts";

const TIMEOUT_MS = 90_000;

const lacksPip = lacksPython || lacks(["-m", "pip", "--version"]);

describe.skipIf(lacksPython)("the Python package", () => {
  let folder: string;
  let server: Tenant;
  let environment: NodeJS.ProcessEnv;
  let started: Program;

  const client = () => createClient({ url: server.url, key: server.adminKey });

  const python = (args: string[], env = environment): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      execFile(PYTHON, args, { cwd: folder, env, timeout: 60_000 }, (error, out, err) => {
        resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, out, err });
      });
    });

  const startWorker = (file: string, env = environment): Program => startProgram(path.join(folder, file), env);

  const finalJob = async (prompt: string, fields: Record<string, unknown> = {}) => {
    const { jobs } = client();
    const { id } = await jobs.create({ prompt, provider: "py", ...fields });
    return eventually(async () => {
      const job = await jobs.get(id, { wait: 25 });
      expect(["completed", "failed", "cancelled"]).toContain(job.status);
      return job;
    });
  };

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "signalbox-python-"));
    server = await tenantForTests();
    // A silent job is soon taken from its worker.
    await client().config.replace({
      presence: { heartbeat_interval_seconds: 2, offline_after_seconds: 10 },
      jobs: { reap_stale_after_seconds: 6 },
    });
    const wheel = path.join(folder, WHEEL_NAME);
    writeFileSync(wheel, new Uint8Array(await (await fetch(`${server.url}/${WHEEL_NAME}`)).arrayBuffer()));
    environment = {
      TMPDIR: folder,
      PATH: process.env.PATH,
      HOME: folder,
      // A wheel without compiled modules can be imported as it is.
      PYTHONPATH: wheel,
      SERVICE_API_URL: server.url,
      SERVICE_API_KEY: server.adminKey,
    };
    writeFileSync(path.join(folder, "worker.py"), `${WORKER}\nif __name__ == "__main__":\n    run()\n`);
    writeFileSync(path.join(folder, "bare.py"), WORKER);
    started = startWorker("worker.py");
    await eventually(async () => expect((await client().workers.list({})).total).toBe(3));
  }, TIMEOUT_MS);

  afterAll(async () => {
    await started?.stop();
    await server?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it("is served without a key, under the name that pip needs and under a short one", async () => {
    const short = await fetch(`${server.url}/signalbox.whl`, { redirect: "manual" });
    expect([short.status, short.headers.get("location")]).toEqual([302, `/${WHEEL_NAME}`]);
    const whole = await fetch(`${server.url}/${WHEEL_NAME}`);
    expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "application/zip"]);
    expect(Buffer.from(await whole.arrayBuffer()).equals(wheelOf())).toBe(true);
    expect((await fetch(`${server.url}/signalbox-0.0.1-py3-none-any.whl`)).status).toBe(404);
  });

  it.skipIf(lacksPip)(
    "is installed by pip, with its version and its types, and needs nothing else",
    async () => {
      const target = path.join(folder, "installed");
      mkdirSync(target);
      const address = `${server.url}/${WHEEL_NAME}`;
      const plain = { ...environment, PYTHONPATH: "" };
      const pip = await python(["-m", "pip", "install", "--no-index", "--target", target, address], plain);
      expect(pip.code, pip.err).toBe(0);
      const said = await python(
        ["-c", `import os, signalbox; print(signalbox.__version__, os.listdir(os.path.dirname(signalbox.__file__)))`],
        { ...environment, PYTHONPATH: target },
      );
      expect(said.out).toContain(VERSION);
      expect(said.out).toContain("py.typed");
    },
    TIMEOUT_MS,
  );

  it.each([
    ["http://[::1]/a", {}, "HTTPConnection ::1 80 /a"],
    ["http://coordinator/a", { http_proxy: "https://by:1" }, "HTTPSConnection by 1 http://coordinator/a"],
    ["https://coordinator/a", { https_proxy: "http://[::2]:1" }, "HTTPSConnection ::2 1 /a"],
  ])("a stream to %s goes where other requests go, with the environment %j", async (url, proxies, way) => {
    const ask = `from signalbox._run import _way_to; way, asked, _ = _way_to(${JSON.stringify(url)}); print(type(way).__name__, way.host, way.port, asked)`;
    expect((await python(["-c", ask], { ...environment, ...proxies })).out.trim()).toBe(way);
  });

  it.each([
    ["hi", "HI"],
    ["generator", "a b c"],
    ["async", { slept: true }],
    ["parts", "xy"],
  ])("a handler of the kind %s gives its result", async (prompt, result) => {
    expect(await finalJob(prompt)).toMatchObject({ status: "completed", result });
  });

  it("says what a job spent, and is tried again where it asks for it", async () => {
    expect(await finalJob("generator")).toMatchObject({ usage: { input_tokens: 1, output_tokens: 2 }, cost_usd: 0.5 });
    expect(await finalJob("retry")).toMatchObject({ status: "completed", attempts: 2 });
  });

  it("counts in numbers of any kind", async () => {
    const spent = { usage: { input_tokens: 3, output_tokens: 2, cached_input_tokens: 1 }, cost_usd: 0.25 };
    expect(await finalJob("numbers")).toMatchObject({ status: "completed", result: "counted", ...spent });
  });

  it.each([
    ["fail", { code: "bad_input", message: "no" }],
    ["bug", { code: "key_error", message: expect.stringMatching(/^KeyError: 'x' \(worker.py, line \d+\)$/) }],
    ["exit", { code: "system_exit" }],
    ["number", { code: "404", message: "not there" }],
    ["control", { code: "a b", message: "None" }],
    ["spent", { code: "mine", message: "no" }],
    ["cancels itself", { code: "cancelled_error" }],
    ["wordless", { code: "wordless" }],
    ["set", { code: "bad_output" }],
    ["nan", { code: "bad_output" }],
    ["cost", { code: "value_error" }],
    ["tokens", { code: "type_error" }],
  ])("a handler that ends by %s fails its job, and the worker goes on", async (prompt, error) => {
    expect(await finalJob(prompt)).toMatchObject({ status: "failed", error: { ...error, retryable: false } });
  });

  it("tells its progress, and stops when its job is cancelled; what it returns then goes nowhere", async () => {
    const { jobs } = client();
    const { id } = await jobs.create({ prompt: "slow", provider: "py" });
    const told = { progress: 0.4, message: "half" };
    await eventually(async () => expect((await jobs.get(id)).progress).toEqual(told));
    await jobs.cancel(id);
    await eventually(() => expect(started.output()).toContain(`job ${id} stopped`));
    expect(await jobs.get(id)).toMatchObject({ status: "cancelled", result: null });
  });

  it("learns of a cancel within a heartbeat interval, although its job has no news", async () => {
    const { jobs } = client();
    const { id } = await jobs.create({ prompt: "still", provider: "py" });
    await eventually(async () => expect((await jobs.get(id)).status).toBe("running"));
    await jobs.cancel(id);
    const at = Date.now();
    await eventually(() => expect(started.output()).toContain(`job ${id} stopped`));
    expect(Date.now() - at).toBeLessThan(2_500);
  });

  it(
    "keeps the job of a handler that computes for longer than a silent job is kept",
    async () => {
      expect(await finalJob("compute")).toMatchObject({ status: "completed", result: "computed", attempts: 1 });
    },
    TIMEOUT_MS,
  );

  it("runs a handler in a process of its own, which can be ended, and whose death is no end of the worker", async () => {
    const { jobs } = client();
    const { id } = await jobs.create({ prompt: "hang", provider: "far" });
    await eventually(async () => expect((await jobs.get(id)).progress).not.toBeNull());
    await jobs.cancel(id);
    const spent = { usage: { input_tokens: 5, output_tokens: 2 }, cost_usd: 0.5 };
    await eventually(async () => expect((await jobs.attempts(id)).attempts).toMatchObject([spent]));
    expect(await finalJob("here", { provider: "far" })).toMatchObject({ status: "completed", result: "from here" });
    const crashed = await finalJob("crash", { provider: "far", max_attempts: 1 });
    expect(crashed).toMatchObject({ status: "failed", error: { code: "process_ended", retryable: true }, ...spent });
    const unsent = await finalJob("hi", { provider: "wrapped", max_attempts: 1 });
    expect(unsent.error).toMatchObject({ message: expect.stringMatching(/process could not start: .*pickle/) });
  });

  it.each([
    ["half", "value_error"],
    ["date", "type_error"],
    ["number", "type_error"],
    ["missing", "file_not_found_error"],
  ])("a handler in a process of its own that gives what cannot be told (%s) fails its job", async (prompt, code) => {
    const job = await finalJob(prompt, { provider: "far", stream: true });
    expect(job).toMatchObject({ status: "failed", attempts: 1, error: { code, retryable: false } });
  });

  it("takes any values that JSON can carry from a handler's own process", async () => {
    expect(await finalJob("counts", { provider: "far" })).toMatchObject({ status: "completed", result: { a: 1 } });
  });

  it("gives a handler the job's files, and keeps what it wrote", async () => {
    const upload = `from signalbox import Signalbox; print(Signalbox().files.upload(b"quiet", name="a.txt")["id"])`;
    const { out } = await python(["-c", upload]);
    expect(await finalJob("file", { files: [out.trim()] })).toMatchObject({
      status: "completed",
      result: 5,
      result_files: [{ name: "loud.txt", bytes: 5 }],
    });
  });

  it("fetches a job's files from its own coordinator, whatever address their client called", async () => {
    const { hostname, port } = new URL(server.url);
    const headers = { authorization: `Bearer ${server.adminKey}`, host: "192.0.2.1:9", "content-type": "text/plain" };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request({ hostname, port, method: "POST", path: "/api/files?name=a.txt", headers }, resolve);
      sent.on("error", reject).end("quiet");
    });
    const { id } = JSON.parse(await text(answer));
    expect(await finalJob("file", { files: [id] })).toMatchObject({ status: "completed", result: 5 });
  });

  it(
    "lets no second process of its machine take its name, which would lose the jobs of both",
    async () => {
      const { code, err } = await python([path.join(folder, "worker.py")]);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/another process of this machine runs as ".+-main": give/),
      ]);
    },
    TIMEOUT_MS,
  );

  it("is kept from its name by no other user of the machine", async () => {
    const lines = [
      "import fcntl, hashlib, os",
      "from signalbox import _program",
      // Whoever made the file below is then somebody else.
      "os.getuid = lambda: 12345",
      "name = hashlib.sha256(b'http://x w').hexdigest()[:16]",
      "held = open(f'{os.environ[\"TMPDIR\"]}/signalbox-12345-{name}.lock', 'w')",
      "fcntl.flock(held, fcntl.LOCK_EX)",
      "_program._own_name('w', 'http://x')",
      "print('free')",
    ];
    const { out, err } = await python(["-c", lines.join("\n")], { ...environment, TMPDIR: folder });
    expect([out, err]).toEqual(["free\n", ""]);
  });

  it("keeps a result that nests deeper than a report may as a file", async () => {
    const { status, result_file } = await finalJob("deep");
    expect([status, result_file]).toEqual(["completed", { id: expect.any(String), bytes: 201 }]);
  });

  it("streams what several threads of a handler emit", async () => {
    const read = `from signalbox import Signalbox; print(len("".join(Signalbox().stream("threads", provider="py"))))`;
    expect((await python(["-c", read])).out.trim()).toBe("8000000");
  });

  it("refuses a text where it takes a list, whose letters would be the tags", async () => {
    const { code, err } = await python(["-c", `from signalbox import worker; worker(provider="p", tags="gpu")`]);
    expect([code, err]).toEqual([1, expect.stringContaining("tags is a list of texts: tags=['gpu']")]);
  });

  it("keeps a result over 1 MiB as a file, and reads it as if it stood in the job", async () => {
    const { id, result, result_file } = await finalJob("large");
    expect([result, result_file]).toEqual([null, { id: expect.any(String), bytes: 2_000_002 }]);
    const read = `from signalbox import Signalbox; print(len(Signalbox().wait("${id}")["result"]))`;
    expect((await python(["-c", read])).out.trim()).toBe("1000000");
  });

  it("is a client: it runs, streams, lists, and names what was refused", async () => {
    const program = `
from signalbox import Problem, Signalbox
box = Signalbox()
print(box.run("hi", provider="py")["result"])
print("|".join(box.stream("generator", provider="py")))
print(len(list(box.jobs(status="completed", limit=2))) > 2)
try: box.run("hi", provder="py")
except Problem as problem: print(problem.code, problem.status)
try: list(box.stream("fail", provider="py"))
except Problem as problem: print(problem.code)
try: Signalbox(key="wrong").run("hi")
except Problem as problem: print(problem.code)
`;
    const ran = await python(["-c", program]);
    expect(ran.err).toBe("");
    expect(ran.out.split("\n")).toEqual([
      "HI",
      "a |b |c",
      "True",
      "invalid_request 400",
      "bad_input",
      "authentication_failed",
      "",
    ]);
  });

  it.each(["worker.py", "bare.py"])("python %s --once runs one job without a coordinator", async (file) => {
    const env = { ...environment, SERVICE_API_URL: "http://127.0.0.1:9", SERVICE_API_KEY: "" };
    const once = (job: object) => python([path.join(folder, file), "--once", JSON.stringify(job)], env);
    const done = await once({ prompt: "generator", provider: "py" });
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      { status: "completed", result: "a b c", usage: { input_tokens: 1, output_tokens: 2 }, cost_usd: 0.5 },
    ]);
    const failed = await once({ prompt: "fail", provider: "py" });
    expect([failed.code, JSON.parse(failed.out)]).toMatchObject([
      1,
      { status: "failed", error: { code: "bad_input" } },
    ]);
    expect((await once({ promt: "x" })).code).toBe(2);
  });

  it("says nothing that a terminal would obey, whatever a prompt holds that a handler repeats", async () => {
    writeFileSync(
      path.join(folder, "repeats.py"),
      `from signalbox import run, worker\n@worker(provider="py")\ndef main(job, ctx):\n    ctx.log(job["prompt"])\n    raise ValueError(job["prompt"])\nrun()\n`,
    );
    const prompt = "a\u001b]0;title\u0007b\u009b2Jc\u202ed\té\ne";
    const { err } = await python([path.join(folder, "repeats.py"), "--once", JSON.stringify({ prompt })]);
    expect(err.split("a ]0;title b 2Jc d\té\ne\n")).toHaveLength(3);
  });

  it("runs a program without `run()` also where it cannot be replaced by another, as on Windows", async () => {
    writeFileSync(
      path.join(folder, "in its place.py"),
      `import sys\nimport signalbox._program as part\nfrom signalbox import Fail, worker\npart._HAS_EXEC = False\n@worker(provider="py")\ndef main(job, ctx):\n    if job["prompt"] == "fail": raise Fail("no", "no")\n    return sys.argv\n`,
    );
    const once = (prompt: string) =>
      python([path.join(folder, "in its place.py"), "--once", JSON.stringify({ prompt })]);
    const done = await once("two words");
    expect([done.code, JSON.parse(done.out).result.slice(1)]).toEqual([0, ["--once", '{"prompt":"two words"}']]);
    expect((await once("fail")).code).toBe(1);
  });

  it("ends with 0 after SIGTERM, and takes no more jobs", async () => {
    expect(await started.stop()).toBe(0);
    const listed = await client().workers.list({});
    expect(listed.workers.map(({ concurrency }) => concurrency)).toEqual([0, 0, 0]);
  });

  it("ends at once while it rests after deaths of its handler's process", async () => {
    const dying = `import signalbox._worker as part\nclass Silent:\n  def call(self, *_, **__): raise part.Problem("unreachable", "nobody")\none = part.Worker(None, {"instance": "w", "concurrency": 1}, True)\none._api, one._deaths = Silent(), 9\none._died("ended with exit code 1")`;
    const beganAt = performance.now();
    expect((await python(["-c", dying])).code).toBe(0);
    expect(performance.now() - beganAt).toBeLessThan(15_000);
  });

  it("runs a handler in a process of its own also where the program calls `run()` without a condition", async () => {
    const plain = `from signalbox import run, worker\n@worker(provider="plain", process=True)\ndef plain(job, ctx): return 1\nrun()\n`;
    writeFileSync(path.join(folder, "plain.py"), plain);
    const running = startWorker("plain.py");
    const ended = await finalJob("hi", { provider: "plain", max_attempts: 1 });
    await running.stop();
    expect(ended).toMatchObject({ status: "completed", result: 1 });
  });
});
