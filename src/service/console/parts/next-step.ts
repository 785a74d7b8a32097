import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** A command within a sentence, as in `To migrate now: sluice migrate.` or `Run "sluice doctor" once.` */
const COMMAND = /(?::|\b[Rr]un) "?(sluice (?:[^";,.]|\.(?! |$))+)/g;

/** The commands that a sentence names. */
export const commandsIn = (text: string): string[] =>
  [...text.matchAll(COMMAND)].map(([, command = '']) => command.trim());

/** A sentence, and below it each command that it names, to be copied. A command that ends it after a colon is not said twice. */
export function nextStep(text: string): Html {
  const commands = commandsIn(text);
  const end = `: ${commands.at(-1)}`;
  const said = text.endsWith(end) ? text.slice(0, 1 - end.length) : text;
  return html`<p>${said}</p>${commands.map(commandBox)}`;
}

/** One click selects all of it; with scripts, a button copies it. */
export const commandBox = (command: string): Html =>
  html`<div class="cmd"><code>${command}</code><button type="button" data-copy hidden>Copy</button></div>`;
