import type { Message } from "esbuild";
import { getPackageName } from "../analysis/package_specifier.ts";
import { getInstallCommand } from "./install_command.ts";

/** An error that prevents bundling. */
export interface BundleError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Converts a message of esbuild, with advice on a missing package. */
export function toBundleError({ text, location, notes }: Message): BundleError {
  const [, missing = ""] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  const install = getInstallCommand(getPackageName(missing));
  const advice = install === undefined
    ? notes.map((each) => each.text)
    : [`Install it: ${install}`];
  const note = advice.length === 0 ? "" : `. ${advice.join(" ")}`;
  return {
    file: location?.file ?? "",
    line: location?.line ?? 1,
    column: (location?.column ?? 0) + 1,
    message: `${text}${note}`,
  };
}
