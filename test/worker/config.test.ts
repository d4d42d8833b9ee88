import { afterEach, describe, expect, test } from "vitest";
import { readConfig, watchConfig } from "../../worker/config.ts";
import { FakeCoordinator, KEY } from "./fake-coordinator.ts";

describe("the config as a worker reads it", () => {
  test.each([
    ["", { model: null, timeoutSeconds: 900 }],
    ["ollama: { model: llama3.2 }", { model: "llama3.2", timeoutSeconds: 900 }],
    ['{"jobs":{"timeout_seconds":60},"vllm":{"model":"other"}}', { model: null, timeoutSeconds: 60 }],
    ["jobs: { timeout_seconds: null }", { model: null, timeoutSeconds: null }],
  ])("%s", (text, config) => {
    expect(readConfig(text, "ollama")).toEqual(config);
  });

  test("what makes no sense is refused by name", () => {
    expect(() => readConfig("jobs: { timeout_seconds: soon }", "ollama")).toThrow("jobs.timeout_seconds");
    expect(() => readConfig("ollama: { model: 3 }", "ollama")).toThrow("ollama.model");
    expect(() => readConfig("just text", "ollama")).toThrow("mapping");
  });
});

describe("watching the config", () => {
  const coordinators: FakeCoordinator[] = [];
  afterEach(async () => {
    await Promise.all(coordinators.splice(0).map((one) => one.stop()));
  });
  async function coordinator() {
    const one = new FakeCoordinator();
    await one.start();
    coordinators.push(one);
    return one;
  }

  const watching = (server: FakeCoordinator, log: (line: string) => void = () => {}) =>
    watchConfig({
      configUrl: `${server.url}/config`,
      apiUrl: server.url,
      apiKey: KEY,
      runtime: "ollama",
      log,
    });

  test("a change applies without a restart, and what has not changed is not sent again", async () => {
    const server = await coordinator();
    server.config = { text: "ollama: { model: first }", etag: '"1"' };
    const lines: string[] = [];
    const watch = watching(server, (line) => lines.push(line));
    await watch.refresh();
    expect(watch.current().model).toBe("first");
    await watch.refresh();
    expect(server.configRequests).toEqual([
      { ifNoneMatch: undefined, authorization: `Bearer ${KEY}` },
      { ifNoneMatch: '"1"', authorization: `Bearer ${KEY}` },
    ]);
    server.config = { text: "ollama: { model: second }", etag: '"2"' };
    await watch.refresh();
    expect(watch.current().model).toBe("second");
  });

  test("a change reaches the next job, however soon that begins", async () => {
    const server = await coordinator();
    const watch = watching(server);
    await watch.refresh();
    for (const model of ["first", "second", "third"]) {
      server.config = { text: `ollama: { model: ${model} }`, etag: `"${model}"` };
      expect((await watch.forJob(true)).model).toBe(model);
    }
    expect(server.configRequests.at(-1)?.ifNoneMatch).toBe('"second"');
  });

  test("a job given out under the version that is known does not read it again, nor wait", async () => {
    const server = await coordinator();
    server.config = { text: "ollama: { model: first }", etag: '"1"' };
    const watch = watching(server);
    await watch.refresh();
    expect(watch.forJob(true, '"1"')).toMatchObject({ model: "first" });
    expect(watch.forJob(false, '"1"')).toMatchObject({ model: "first" });
    server.config = { text: "ollama: { model: second }", etag: '"2"' };
    expect(await watch.forJob(true, '"2"')).toMatchObject({ model: "second" });
    expect(server.configRequests.length).toBe(2);
  });

  test("jobs that begin during a read share the next one, which may know more", async () => {
    const server = await coordinator();
    const watch = watching(server);
    const first = watch.forJob(true);
    server.config = { text: "ollama: { model: later }", etag: '"2"' };
    const [, ...others] = await Promise.all([first, watch.forJob(true), watch.forJob(true), watch.forJob(true)]);
    expect(others.map(({ model }) => model)).toEqual(["later", "later", "later"]);
    expect(server.configRequests.length).toBe(2);
  });

  test("jobs that may not wait begin with what is known, and the config is read once, a moment later", async () => {
    const server = await coordinator();
    const watch = watching(server);
    await watch.refresh();
    server.config = { text: "ollama: { model: later }", etag: '"2"' };
    for (let count = 0; count < 10; count += 1) expect(watch.forJob(false)).toMatchObject({ model: null });
    expect(server.configRequests.length).toBe(1);
    await expect.poll(() => watch.current().model).toBe("later");
    expect(server.configRequests.length).toBe(2);
  });

  test("where the config does not answer, one job waits for it a little, and those after it not at all", async () => {
    const silent = Promise.withResolvers<Response>();
    const watch = watchConfig({
      configUrl: "http://127.0.0.1:9/config",
      apiUrl: "http://127.0.0.1:9",
      apiKey: KEY,
      runtime: "ollama",
      log: () => {},
      fetch: async () => (await silent.promise).clone(),
    });
    expect(await watch.forJob(true)).toMatchObject({ model: null });
    expect(watch.forJob(true)).not.toBeInstanceOf(Promise);
    silent.resolve(new Response("ollama: { model: back }"));
    await expect.poll(() => watch.current().model).toBe("back");
    expect(watch.forJob(true)).toBeInstanceOf(Promise);
  });

  test("a config that never ends, or is huge when unpacked, is given up at its bound", async () => {
    const trouble: string[] = [];
    let sent = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        sent += 1;
        controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
      },
    });
    const watch = watchConfig({
      configUrl: "http://127.0.0.1:9/config",
      apiUrl: "http://127.0.0.1:9",
      apiKey: KEY,
      runtime: "ollama",
      log: (line) => trouble.push(line),
      fetch: async () => new Response(endless),
    });
    await watch.refresh();
    expect(trouble).toEqual(["the config at http://127.0.0.1:9/config was not read: it is too large"]);
    expect(sent).toBeLessThan(20);
  });

  test("a config that lies elsewhere is fetched without the key", async () => {
    const [server, elsewhere] = [await coordinator(), await coordinator()];
    const watch = watchConfig({
      configUrl: `${elsewhere.url}/config`,
      apiUrl: server.url,
      apiKey: KEY,
      runtime: "x",
      log: () => {},
    });
    await watch.refresh();
    expect(elsewhere.configRequests).toEqual([{ ifNoneMatch: undefined, authorization: undefined }]);
  });

  test("while it cannot be had or read, the last known stays in force, and that is said once", async () => {
    const server = await coordinator();
    server.config = { text: "ollama: { model: first }", etag: '"1"' };
    const lines: string[] = [];
    const watch = watching(server, (line) => lines.push(line));
    await watch.refresh();
    lines.splice(0);
    server.config = { text: "ollama: { model: 7 }", etag: '"2"' };
    await watch.refresh();
    await watch.refresh();
    expect(watch.current().model).toBe("first");
    expect(lines).toEqual([expect.stringMatching(/^the config at .* was not read: .*ollama\.model must be/)]);
  });
});
