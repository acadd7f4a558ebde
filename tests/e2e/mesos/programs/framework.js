// npm mesos-framework, unmodified: ADDRESS, tasks, seconds. Its own handlers answer offers.
"use strict";

const { Scheduler, Mesos } = require("mesos-framework");
const mesos = Mesos.getMesos();
const [address, wanted, seconds] = process.argv.slice(2);
const [host, port] = address.split(":");
const ENDS = ["TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR"];
const ends = {};
const killed = new Set();

function tasks(line, instances) {
    return {
        priority: 1,
        instances,
        commandInfo: new mesos.CommandInfo(null, null, true, line, null, null),
        resources: { cpus: 0.1, mem: 32, ports: 0, disk: 0 },
    };
}

const tenth = Number(wanted) / 10;
const scheduler = new Scheduler({
    masterUrl: host,
    port,
    frameworkName: "counting",
    frameworkFailoverTimeout: 100,
    masterConnectionTimeout: 60,
    logging: { level: "error", path: process.env.LOGS, fileName: "framework.log" },
    restartStates: [],
    tasks: {
        good: tasks("echo started; sleep 2; exit 0", 8 * tenth),
        bad: tasks("echo started; sleep 2; exit 1", tenth),
        long: tasks("echo started; sleep 2; exec sleep 300", tenth),
    },
});

function leave() {
    console.log(JSON.stringify({ ends }));
    process.exit(Object.keys(ends).length >= Number(wanted) ? 0 : 1);
}

scheduler.on("update", (update) => {
    const { task_id: id, agent_id: agent, state } = update.status;
    if (state === "TASK_RUNNING" && id.value.includes("long") && !killed.has(id.value)) {
        killed.add(id.value);
        scheduler.kill(id.value, agent.value);
    }
    if (ENDS.includes(state)) ends[id.value] = state;
    if (Object.keys(ends).length >= Number(wanted)) leave();
});
scheduler.on("error", () => {});
scheduler.on("ready", () => scheduler.subscribe());
// The library subscribes again after the end of a stream, but not after a connection that broke.
setInterval(() => {
    if (scheduler.httpRequest && scheduler.httpRequest.destroyed) {
        delete scheduler.requestTemplate.headers["mesos-stream-id"];
        scheduler.subscribe();
    }
}, 1000);
setTimeout(leave, Number(seconds) * 1000);
