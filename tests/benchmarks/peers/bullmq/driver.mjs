// BullMQ: delayed jobs, or job schedulers for those that repeat. The contract is that of drivers/order.py.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue } from "bullmq";

const order = JSON.parse(readFileSync(0, "utf8"));
const { hostname, port } = new URL(order.url);
const queue = new Queue("bench", { connection: { host: hostname, port: Number(port) } });
const env = {
  ...process.env,
  BENCH_URL: order.url,
  BENCH_STARTS: order.starts,
  BENCH_STYLE: order.style,
  BENCH_KILLED: order.kill_after_seconds ? "1" : "",
};
const start = () => spawn(process.execPath, ["worker.mjs"], { env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
const workers = [start(), ...(order.kill_after_seconds ? [start()] : [])];
const expected = order.jobs.length * (order.repeats ? order.seconds : 1);
const started = () => {
  try {
    return readFileSync(order.starts, "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
};

const firstMs = Math.ceil(Date.now() / 1000 + order.jobs.length / order.rate + 4) * 1000;
const began = performance.now();
for (const [job, offset] of order.jobs) {
  const due = firstMs + offset;
  if (order.repeats) {
    const repeat = { every: 1000, startDate: due, endDate: due + order.seconds * 1000 - 1 };
    await queue.upsertJobScheduler(job, repeat, { name: "body", data: { job } });
  } else {
    await queue.add("body", { job, due }, { delay: due - Date.now() });
  }
}
const submitSeconds = (performance.now() - began) / 1000;

let killedMs = null;
if (order.kill_after_seconds) {
  await sleep(Math.max(0, firstMs + order.kill_after_seconds * 1000 - Date.now()));
  workers.shift().kill("SIGKILL");
  killedMs = Date.now();
}
const until = firstMs + (order.seconds + order.patience_seconds) * 1000;
while (Date.now() < until && started() < expected) await sleep(200);

let cpuSeconds = 0;
for (const worker of workers) {
  worker.on("message", (seconds) => (cpuSeconds += seconds));
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  worker.kill("SIGTERM");
  await ended;
}
await queue.close();
console.log(
  JSON.stringify({
    first_ms: firstMs,
    submit_per_second: order.jobs.length / submitSeconds,
    cpu_seconds: cpuSeconds,
    killed_ms: killedMs,
  }),
);
