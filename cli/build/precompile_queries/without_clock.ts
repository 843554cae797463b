import type { Slice } from "../../analysis/slice.ts";

/** Globals whose values depend on the moment or on the machine. */
const UNSTABLE = ["Date", "Intl", "Math", "crypto", "performance"];

/** Makes the code of a slice throw where it uses an unstable global. */
export function withoutClock(slice: Slice): Slice {
  const names = UNSTABLE.map((name) => `${name} = refuse(${JSON.stringify(name)})`);
  return {
    ...slice,
    code: `const refuse = (name) => {
  const fail = () => { throw new Error(name + " is used, and its values depend on the moment"); };
  return new Proxy(function () {}, { get: fail, has: fail, apply: fail, construct: fail });
};
const ${names.join(", ")};
${slice.code}`,
  };
}
