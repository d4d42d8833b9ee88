// BullMQ behind HTTP. A worker without a processor fetches manually, as documented. A claimed job's object is kept
// until its completion, which spares BullMQ a read that several processes would need. Usage: node bullmq.ts <port>
// <Redis's socket>

import { type Job, Queue, Worker } from "bullmq";
import { type PeerQueue, serve } from "./server.ts";

const TOKEN = "bench";
const [, , port = "", socket = ""] = process.argv;
const connection = { path: socket, maxRetriesPerRequest: null };

const open = async (name: string): Promise<PeerQueue> => {
  const queue = new Queue(name, { connection });
  const worker = new Worker(name, null, { connection, autorun: false });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  const claimed = new Map<string, Job>();
  return {
    create: async (prompt) => ({ id: (await queue.add("job", { prompt })).id }),
    claim: async () => {
      const job = await worker.getNextJob(TOKEN, { block: false });
      if (job === undefined) return null;
      claimed.set(job.id, job);
      return { id: job.id, prompt: job.data.prompt };
    },
    complete: async (id, result) => {
      const job = claimed.get(id);
      if (job === undefined) throw new Error(`job ${id} is not claimed`);
      await job.moveToCompleted(result, TOKEN, false);
      claimed.delete(id);
    },
  };
};

serve(Number(port), open);
