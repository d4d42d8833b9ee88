import { describe, expect, test } from "vitest";
import { environmentKeys, keyVariable } from "../../worker/runtimes/provider-keys.ts";
import { readSettings } from "../../worker/settings.ts";

const ENV = { SERVICE_API_KEY: "k" };

function settingsOf(args: string[], env: Record<string, string> = ENV) {
  const read = readSettings(args, env);
  if (read.ok !== true) throw new Error(JSON.stringify(read));
  return read.settings;
}

function problemsOf(args: string[], env: Record<string, string> = ENV): string {
  const read = readSettings(args, env);
  return read.ok === false ? read.problems.join("\n") : "";
}

describe("the worker's settings", () => {
  test("have defaults for all but the key", () => {
    expect(settingsOf([])).toMatchObject({
      apiUrl: "http://127.0.0.1:8787",
      configUrl: "http://127.0.0.1:8787/config",
      runtimeUrl: null,
      provider: null,
      tags: "",
      models: [],
      tier: null,
      concurrency: 1,
      runtime: null,
    });
    expect(settingsOf([]).instance).toMatch(/^[A-Za-z0-9._:-]+$/);
  });

  test("two commands on one machine have two names", () => {
    const named = (provider: string) => settingsOf(["--exec", "cat", "--provider", provider]).instance;
    expect([named("upper"), named("count")]).toEqual(
      ["upper", "count"].map((name) => `${settingsOf([]).instance}-${name}`),
    );
  });

  test("a command is split once, and its defaults are those of the documents", () => {
    expect(settingsOf(["--exec", "tr a-z 'A Z'", "--provider", "up"]).exec).toEqual({
      command: { text: "tr a-z 'A Z'", words: ["tr", "a-z", "A Z"], isShell: false },
      mode: "job",
      stdin: "text",
      stdout: "text",
      graceMs: 5_000,
      apis: [],
    });
    const shell = settingsOf(["--exec", "echo $HOME | wc", "--exec-shell", "--exec-mode", "lines", "--grace", "0.5"]);
    expect(shell.exec).toMatchObject({
      command: { words: ["echo $HOME | wc"], isShell: true },
      mode: "lines",
      graceMs: 500,
    });
    expect(settingsOf([]).exec).toBe(null);
  });

  test("a single job needs no key", () => {
    expect(settingsOf(["--exec", "cat", "--once", "{}"], {}).once).toBe("{}");
  });

  test.each([
    [["--exec", "echo 'a"], "--exec: has a ' that is not closed"],
    [["--exec", "cat", "--runtime", "echo"], "--runtime and --exec: a worker has one of them"],
    [["--grace", "3"], "--grace goes with --exec '<command>'"],
    [["--exec", "cat", "--exec-mode", "line"], "--exec-mode: must be job or lines"],
    [["--exec", "cat", "--stdin", "xml"], "--stdin: must be text or json"],
    [["--exec", "cat", "--apis", "chat"], "--apis: must be one or more of chat/completions, "],
    [["--apis", "messages"], "--apis goes with --exec '<command>'"],
  ])("%j is a mistake that is said", (args, problem) => {
    expect(problemsOf(args)).toContain(problem);
  });

  test("come from flags, with a space or an equals sign, and from the environment", () => {
    const args = [
      "--instance",
      "gpu-1",
      "--tags=gpu, eu ,gpu",
      "--models",
      "a,b",
      "--concurrency",
      "4",
      "--tier=premium",
    ];
    const env = {
      ...ENV,
      SERVICE_API_URL: "https://jobs.example.com/#/fleet",
      SERVICE_RUNTIME_URL: "http://10.0.0.5:11434",
    };
    expect(settingsOf([...args, "--runtime", "ollama", "--provider", "home"], env)).toEqual({
      apiUrl: "https://jobs.example.com",
      exec: null,
      manageModels: false,
      maxModelGb: null,
      once: null,
      apiKey: "k",
      configUrl: "https://jobs.example.com/config",
      runtimeUrl: "http://10.0.0.5:11434",
      instance: "gpu-1",
      provider: "home",
      tags: "gpu,eu",
      models: ["a", "b"],
      tier: "premium",
      concurrency: 4,
      runtime: "ollama",
    });
  });

  test.each([
    ["an unknown flag names the nearest", ["--concurency", "2"], /no flag --concurency; did you mean --concurrency\?/],
    ["a stray word", ["gpu"], /unexpected argument "gpu"/],
    ["a flag without its value", ["--tags", "--tier", "economy"], /--tags needs a value/],
    ["a command that is an empty variable", ["--exec", ""], /--exec needs a value/],
    ["a job that is an empty variable", ["--exec", "cat", "--once", " "], /--once needs a value/],
    ["a flag given twice", ["--tier", "economy", "--tier", "premium"], /--tier is given twice/],
    ["a concurrency that is no number", ["--concurrency", "many"], /--concurrency: must be a whole number/],
    ["a concurrency of zero", ["--concurrency", "0"], /--concurrency: must be at least 1/],
    ["an unknown tier", ["--tier", "gold"], /--tier: must be economy, standard or premium/],
    ["an instance with a space", ["--instance", "my worker"], /--instance: must consist of/],
    ["a tag with a space inside", ["--tags", "a b"], /--tags: must consist of/],
    ["an unknown runtime names the nearest", ["--runtime", "olama"], /no runtime "olama"; did you mean ollama\?/],
  ])("%s", (_what, args, says) => {
    expect(problemsOf(args)).toMatch(says);
  });

  test("all mistakes are reported at once, and an empty variable counts as not set", () => {
    const problems = problemsOf(["--tier", "gold"], { SERVICE_API_KEY: " ", SERVICE_API_URL: "ftp://x" });
    expect(problems).toMatch(/SERVICE_API_KEY: is not set/);
    expect(problems).toMatch(/SERVICE_API_URL: must be an address that starts with http/);
    expect(problems).toMatch(/--tier/);
  });

  test("llama.cpp may be called as people call it", () => {
    expect(settingsOf(["--runtime", "llama.cpp"]).runtime).toBe("llamacpp");
  });
});

describe("provider keys", () => {
  test("are found in the environment under the provider's name", async () => {
    const keys = environmentKeys({ PROVIDER_GITHUB_MODELS_KEY: "secret", PROVIDER_EMPTY_KEY: " " });
    expect(keyVariable("github-models")).toBe("PROVIDER_GITHUB_MODELS_KEY");
    expect(await keys.resolve("provider:github-models")).toBe("secret");
    expect(await keys.resolve("provider:openai")).toBeNull();
    expect(await keys.resolve("provider:empty")).toBeNull();
    expect(await keys.resolve("vault:../other")).toBeNull();
  });
});
