import { assertEquals } from "@std/assert";
import { z } from "../../validation/mod.ts";

Deno.test("z is a value and has the types of zod", () => {
  const Note = z.object({ id: z.uuid(), tags: z.array(z.string()).default([]) });
  type Note = z.infer<typeof Note>;
  const note: Note = { id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301", tags: [] };
  const input: z.input<typeof Note> = { id: note.id };
  const generic = <T extends z.ZodType>(schema: T, value: unknown): z.output<T> =>
    schema.parse(value);
  const shape: z.ZodObject<{ id: z.ZodUUID }> = Note.pick({ id: true });
  assertEquals(generic(Note, input), note);
  assertEquals(shape.safeParse({ id: "x" }).error instanceof z.ZodError, true);
});
