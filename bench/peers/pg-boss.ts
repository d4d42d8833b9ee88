// pg-boss behind HTTP, with its defaults except the pool size: sixteen connections do a tenth more than pg's ten;
// thirty-two do no more than sixteen. Usage: node pg-boss.ts <port> <folder of PostgreSQL's socket> <user>

import { PgBoss } from "pg-boss";
import { type PeerQueue, serve } from "./server.ts";

const CONNECTIONS = 16;
const [, , port = "", socketFolder = "", user = ""] = process.argv;

const boss = new PgBoss({ host: socketFolder, user, database: "postgres", max: CONNECTIONS });
boss.on("error", (error) => console.error(error));
await boss.start();

const open = async (name: string): Promise<PeerQueue> => {
  await boss.createQueue(name);
  return {
    create: async (prompt) => {
      const id = await boss.send(name, { prompt });
      if (id === null) throw new Error("the job was not stored");
      return { id };
    },
    claim: async () => {
      const [job] = await boss.fetch(name);
      return job === undefined ? null : { id: job.id, prompt: job.data.prompt };
    },
    complete: async (id, result) => {
      const { affected } = await boss.complete(name, id, { result });
      if (affected !== 1) throw new Error(`job ${id} is not claimed`);
    },
  };
};

serve(Number(port), open);
