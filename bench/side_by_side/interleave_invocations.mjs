/**
 * The harness's way of timing (warm up, then rounds in shuffled order, ratios within a round), with an invocation of its own
 * for each batch: metrics and spans are written at an invocation's end, and that end is counted.
 */
import { setImmediate as tick } from "node:timers/promises";
import { median, shuffle, spread } from "../lib/stats.mjs";
import { inInvocation } from "./in_invocation.mjs";

/** Calls of one invocation at most: what one collects stays the size of a large real one. */
const MAX_CALLS = 1000;

/** Milliseconds of processor time: for work that waits for nothing, whatever else the machine does. */
export const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const batch = async (work, calls, now) => {
  const start = now();
  for (let left = calls; left > 0; left -= MAX_CALLS) {
    await inInvocation(async () => {
      for (let i = Math.min(left, MAX_CALLS); i > 0; i--) {
        await work();
        if ((i & 255) === 255) await tick();
      }
    });
  }
  return (now() - start) * 1000 / calls;
};

export const interleaveInvocations = async (cases, { rounds, warmMs, targetMs, now = () => performance.now() }) => {
  const names = Object.keys(cases);
  const calls = {};
  for (const name of names) {
    calls[name] = 10;
    for (const end = performance.now() + warmMs; performance.now() < end;) {
      const us = await batch(cases[name], calls[name], now);
      calls[name] = Math.max(10, Math.round(targetMs * 1000 / us));
    }
  }
  const got = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of shuffle(names)) got[name].push(await batch(cases[name], calls[name], now));
  }
  const first = got[names[0]];
  return Object.fromEntries(names.map((name) => [name, {
    name,
    us: median(got[name]),
    spread: spread(got[name]),
    ratio: median(got[name].map((us, round) => us / first[round])),
    over: median(got[name].map((us, round) => us - first[round])),
  }]));
};
