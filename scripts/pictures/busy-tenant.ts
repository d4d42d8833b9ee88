// Fills a fresh tenant with a morning's work, by the calls that any client and worker makes: workers, finished, failed,
// running and waiting jobs.

export type Call = <Answer>(method: string, target: string, body?: unknown) => Promise<Answer>;

interface Lease {
  readonly id: string;
  readonly lease: number;
}

const FLEET = [
  { instance: "gpu-1", provider: "vllm", tags: "gpu,eu", models: ["qwen3-coder"], concurrency: 4 },
  { instance: "gpu-2", provider: "vllm", tags: "gpu,us", models: ["qwen3-coder"], concurrency: 4 },
  { instance: "laptop", provider: "ollama", tags: "eu", models: ["llama3.2"], concurrency: 1 },
  { instance: "cloud", provider: "openai", tags: "hosted", models: ["gpt-5-mini"], concurrency: 8 },
] as const;

const PROMPTS = [
  "Summarise the minutes of the board meeting.",
  "Translate the release notes into French.",
  "Which of these tickets describe the same fault?",
  "Write a test for the parser of dates.",
  "Name the parties to this contract.",
];
const FINISHED = 40;
const FAILED_EVERY = 9;
const USAGE = { input_tokens: 1_800, output_tokens: 420 };

const jobsFor = (models: readonly string[], count: number) =>
  Array.from({ length: count }, (_, at) => ({
    prompt: PROMPTS[at % PROMPTS.length],
    model: models[at % models.length],
    tags: at % 4 === 0 ? ["eu"] : [],
  }));

const present = async (call: Call): Promise<void> => {
  for (const offer of FLEET) await call("POST", "/presence", { ...offer, status: "online" });
};

const claimed = async (call: Call, instance: string): Promise<Lease[]> =>
  (await call<{ jobs: Lease[] }>("POST", `/api/workers/${instance}/claim`, { max: 8 })).jobs;

const finish = async (call: Call, { id, lease }: Lease, at: number): Promise<void> => {
  await call("POST", `/api/jobs/${id}/start`, { lease });
  if (at % FAILED_EVERY === FAILED_EVERY - 1) {
    const error = { code: "context_length", message: "the prompt is longer than the model's context", status: 400 };
    await call("POST", `/api/jobs/${id}/fail`, { lease, error, usage: USAGE });
  } else await call("POST", `/api/jobs/${id}/complete`, { lease, result: { text: "Done." }, usage: USAGE });
};

export const fillTenant = async (call: Call): Promise<void> => {
  await present(call);
  const models = FLEET.map(({ models: [model] }) => model);
  await call("POST", "/api/jobs/batch", { jobs: jobsFor(models, FINISHED) });
  for (let at = 0; at < FINISHED; ) {
    const before = at;
    for (const { instance } of FLEET) {
      for (const lease of await claimed(call, instance)) await finish(call, lease, at++);
    }
    if (at === before) break;
  }
  await call("POST", "/api/jobs/batch", { jobs: jobsFor(models, 12) });
  for (const { instance } of FLEET) {
    for (const { id, lease } of (await claimed(call, instance)).slice(0, 3))
      await call("POST", `/api/jobs/${id}/start`, { lease });
  }
  await call("POST", "/api/jobs/batch", { jobs: PROMPTS.map((prompt) => ({ prompt, tags: ["h100"] })) });
};
