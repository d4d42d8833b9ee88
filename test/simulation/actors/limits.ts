// Texts as long as they may be and longer, and a storage that fills up.

import { toPresence } from "../../../contract/fleet/worker.ts";
import { MAX_FRAME_BYTES } from "../../../contract/socket.ts";
import { MAX_STORED_BYTES } from "../../../durable-objects/turn/memory/storage-memory.ts";
import { newJob } from "../../support/new-job.ts";
import type { StepKind } from "../plan.ts";
import { type Action, LONG_TEXT, type World } from "../world.ts";
import { presenceOf, type WorkerAction, withWorker } from "./workers.ts";

const LONG_PROMPT_CHARS = 200_000;

/** Several in one commit. */
const createLongJobs: Action = async (world, [count]) => {
  const jobs = Array.from({ length: 1 + Math.floor(count * 3) }, () => {
    const prompt = world.fresh("prompt ").padEnd(LONG_PROMPT_CHARS, '"');
    world.model.asked.add(prompt);
    return newJob({ prompt, input: { text: LONG_TEXT } });
  });
  const answer = await world.shell.call(world.admin, "createJobs", { jobs, idempotency: null });
  if (answer?.ok) for (const job of answer.value.jobs) world.model.accept(job.id, job.prompt);
  else if (answer !== null) for (const { prompt } of jobs) world.model.refused.add(prompt);
};

/** Mostly it has room again. */
const fillStorage: Action = ({ shell }, [how]) => {
  shell.fill(how < 0.2 ? MAX_STORED_BYTES + 1 : MAX_STORED_BYTES);
};

const STARTED = '{"type":"job.started","id":"1","job_id":"00000000-0000-7000-8000-000000000000","lease":1}';
const TOO_LONG_FRAME = STARTED.padEnd(MAX_FRAME_BYTES + 1);

const sendTooLongFrame: WorkerAction = async ({ shell, model }, { socket }) => {
  if (!socket?.isOpen || !shell.sockets.has(socket)) return;
  const tenant = await shell.tenant();
  await tenant.webSocketMessage(socket as unknown as WebSocket, TOO_LONG_FRAME).catch(() => {});
  if (socket.isOpen) model.violate("a socket stays open after too long a frame");
};

const LONG_LIST = Array.from({ length: 700 }, (_, index) => `model-${index}`.padEnd(100, "m"));

const offerTooMuch: WorkerAction = async ({ shell, model }, worker) => {
  const body = { ...presenceOf(worker, 0), models: LONG_LIST };
  const answer = await shell.call(worker.credential, "reportPresence", { ...toPresence(body), viaSocket: false });
  if (answer?.ok) model.violate(`${worker.instance} may offer ${LONG_LIST.length} long names`);
};

const SIZE_KNOWN_AFTER_MS = 1_000;

/** Whether a full storage must refuse new jobs now; null if the object may not have looked yet. */
export const mustRefuse = ({ shell: { clock, disk, filledAt } }: World): boolean | null => {
  const mayBeOld = clock.elapsedAt - filledAt <= SIZE_KNOWN_AFTER_MS || clock.setBackFromAt > clock.nowAt;
  return mayBeOld ? null : disk.bytes > MAX_STORED_BYTES;
};

export const LIMIT_ACTIONS = {
  "create long jobs": createLongJobs,
  "fill the storage": fillStorage,
  "send too long a frame": withWorker(sendTooLongFrame),
  "offer too much": withWorker(offerTooMuch),
} satisfies Partial<Record<StepKind, Action>>;
