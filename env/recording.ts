/** A recorded definition of a program: `defineJob(options)(handler)`. */
export interface Definition {
  /** The name of the function that made it: `defineJob`. */
  readonly name: string;
  /** The arguments, those of a curried function one after the other. */
  readonly args: readonly unknown[];
  /** The result. */
  readonly value: unknown;
}

/** Receives the definitions of a program that is loaded only to learn what it uses. */
export interface Recorder {
  /** Receives a definition. */
  add(definition: Definition): void;
  /**
   * Returns a value for an environment variable that is not set; `undefined` if an optional variable stays without one.
   */
  getStandIn(variable: string, isRequired: boolean): string | undefined;
}

/** Place of the recorder in the global object, which all copies of this package share. */
export const RECORDER: unique symbol = Symbol.for("@trellis/fn recorder");

const globals = globalThis as { [RECORDER]?: Recorder };

/** Returns true if the program is loaded only to learn what it uses: clients then refuse to connect. */
export function isRecording(): boolean {
  return globals[RECORDER] !== undefined;
}

/** Domain of the URLs that replace variables that are not set while a program is loaded. The top-level domain is reserved (RFC 6761). */
export const STAND_IN_DOMAIN = "stand-in.invalid";

/**
 * Checks for the stand-in of a variable that is not set. Options accept it, although it is not a valid
 * address, number or name.
 */
export function isStandIn(value: unknown): boolean {
  return isRecording() && typeof value === "string" && value.includes(`.${STAND_IN_DOMAIN}/`);
}

/** Returns a value for a variable that is not set; `undefined` if it has none, as in a program that runs. */
export function getStandIn(variable: string, isRequired: boolean): string | undefined {
  return globals[RECORDER]?.getStandIn(variable, isRequired);
}

/**
 * Reports a definition to the recorder, if there is one.
 *
 * @param name The name of the function that makes it.
 * @param args Its arguments.
 * @param value Its result.
 * @returns The result.
 */
export function record<T>(name: string, args: readonly unknown[], value: T): T {
  globals[RECORDER]?.add({ name, args, value });
  return value;
}
