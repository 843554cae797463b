import type { Message } from "esbuild";
import { getPackageName } from "./package_specifier.ts";
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
  const explained = explainMessage(text);
  const note = explained === text && notes.length > 0
    ? `. ${notes.map((each) => each.text).join(" ")}`
    : "";
  return {
    file: location?.file ?? "",
    line: location?.line ?? 1,
    column: (location?.column ?? 0) + 1,
    message: `${explained}${note}`,
  };
}

/** Adds to a message of esbuild what to do about it. */
export function explainMessage(text: string): string {
  const [, missing = ""] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  const install = getInstallCommand(getPackageName(missing));
  if (install !== undefined) return `${text}. Install it: ${install}`;
  const [, extension, file] = /^No loader is configured for "([^"]*)" files: (.*)$/.exec(text) ??
    [];
  if (extension === undefined) return text;
  if (extension === ".node") {
    const [, ...below] = file.split(/node_modules[/\\]/);
    const name = /^(?:@[^/\\]+[/\\])?[^/\\]+/.exec(below.at(-1) ?? "")?.[0];
    return `${text}. ${explainNative(name ?? "This file")}`;
  }
  return `${text}. Import it with { type: "text" } or { type: "bytes" }, as in import page from ` +
    `"./page${extension}" with { type: "text" }, or read it with ` +
    `readFileSync(new URL("./page${extension}", import.meta.url))`;
}

/** Returns the error message for a package with native code. */
export function explainNative(name: string): string {
  return `${name} loads native code, which is not bundled: provide its package in a layer or the ` +
    "image, and name it in build.external of trellis.config.ts";
}
