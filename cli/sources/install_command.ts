import { OPTIONAL_PACKAGES } from "../terminal/optional_packages.ts";

/**
 * Returns the command that installs an optional package of `@trellis/fn`.
 *
 * @returns The command; `undefined` for other packages.
 */
export function getInstallCommand(name: string): string | undefined {
  return Object.hasOwn(OPTIONAL_PACKAGES, name)
    ? `npm install "${name}@${OPTIONAL_PACKAGES[name]}"`
    : undefined;
}
