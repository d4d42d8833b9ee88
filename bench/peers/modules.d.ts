// Types for the few calls that the peers' servers make. Their packages are installed during the benchmark in a
// temporary folder, so the compiler never sees them.

declare module "bullmq" {
  interface Connected {
    connection: { path: string; maxRetriesPerRequest?: null };
  }
  export interface Job {
    id: string;
    data: { prompt: string };
    moveToCompleted(result: string, token: string, fetchNext: boolean): Promise<unknown>;
  }
  export class Queue {
    constructor(name: string, options: Connected);
    add(name: string, data: { prompt: string }): Promise<Job>;
    addBulk(jobs: { name: string; data: { prompt: string } }[]): Promise<Job[]>;
    waitUntilReady(): Promise<unknown>;
  }
  export class Worker {
    constructor(
      name: string,
      processor: ((job: Job) => Promise<string>) | null,
      options: Connected & { autorun?: boolean; concurrency?: number },
    );
    on(event: "completed", hear: () => void): void;
    getNextJob(token: string, options: { block: boolean }): Promise<Job | undefined>;
    waitUntilReady(): Promise<unknown>;
  }
}

declare module "pg-boss" {
  export class PgBoss {
    constructor(options: { host: string; user: string; database: string; max: number });
    on(event: "error", hear: (error: Error) => void): void;
    start(): Promise<unknown>;
    createQueue(name: string): Promise<void>;
    send(name: string, data: { prompt: string }): Promise<string | null>;
    fetch(name: string): Promise<{ id: string; data: { prompt: string } }[]>;
    complete(name: string, id: string, data: { result: string }): Promise<{ affected: number }>;
  }
}
