// The process that runs the jobs of BullMQ.
import { appendFileSync } from "node:fs";
import { Worker } from "bullmq";

const { BENCH_URL, BENCH_STARTS, BENCH_STYLE, BENCH_KILLED } = process.env;
const { hostname, port } = new URL(BENCH_URL);
const concurrency = BENCH_STYLE === "tuned" ? { concurrency: 50 } : {};
// What a dead worker held comes back after these; 30 s unless they are set.
const recovery = BENCH_STYLE === "tuned" && BENCH_KILLED ? { lockDuration: 5000, stalledInterval: 5000 } : {};

const worker = new Worker(
  "bench",
  async (job) => {
    const started = performance.timeOrigin + performance.now();
    const due = job.data.due ?? Math.floor(started / 1000) * 1000;
    appendFileSync(BENCH_STARTS, `${job.data.job} ${due} ${started.toFixed(3)}\n`);
  },
  { connection: { host: hostname, port: Number(port), maxRetriesPerRequest: null }, ...concurrency, ...recovery },
);
process.on("SIGTERM", async () => {
  await worker.close();
  const used = process.cpuUsage();
  process.send((used.user + used.system) / 1e6, () => process.exit(0));
});
