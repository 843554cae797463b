// Shortens the pauses between two looks at the alarm of a release, which lasts a minute at least.
const { setTimeout: wait } = globalThis;
globalThis.setTimeout = (run, ms, ...rest) => wait(run, ms === 10_000 ? 100 : ms, ...rest);
