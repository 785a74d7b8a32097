// Records `sluice demo` as an SVG that plays what a terminal shows, in its own time.
//   npx tsx bench/record-demo.ts docs/images/demo.svg
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const STYLES: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 32: 'g', 36: 'c' };
const CODE = new RegExp(`${String.fromCharCode(27)}\\[(\\d+)m`);

const [file = 'demo.svg'] = process.argv.slice(2);
const ROWS = 30;
const LINE = 18;
const WIDTH = 100 * 7.8 + 32;
const HEIGHT = ROWS * LINE + 56;
/** Lines that arrive together follow each other so fast that the eye sees them come. */
const LEAST_SECONDS = 0.04;

interface Line {
  readonly text: string;
  readonly at: number;
}

const lines = await record();
await writeFile(file, draw(lines));
console.log(`${file}: ${lines.length} lines, ${lines.at(-1)?.at.toFixed(1)} s`);

async function record(): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-demo-'));
  const root = fileURLToPath(new URL('..', import.meta.url));
  const sluice = join(root, 'node_modules/.bin/tsx');
  const program = [join(root, 'src/main.ts')];
  try {
    const child = spawn(sluice, [...program, 'demo'], {
      cwd: folder,
      env: { ...process.env, FORCE_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const found: Line[] = [];
    const begun = performance.now();
    for await (const text of createInterface({ input: child.stdout })) {
      const at = Math.max((performance.now() - begun) / 1000, (found.at(-1)?.at ?? 0) + LEAST_SECONDS);
      found.push({ text: text.replace(/(\/\/\w+:)[^@]+@/, '$1…@'), at });
    }
    if (child.exitCode === null) await once(child, 'exit');
    if (child.exitCode !== 0) throw new Error(`The demo ended with exit code ${child.exitCode}.`);
    return found;
  } finally {
    // The demo leaves its server running.
    await once(spawn(sluice, [...program, 'stop-db'], { cwd: folder, stdio: 'ignore' }), 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}

function draw(shown: readonly Line[]): string {
  const spans = createSpans();
  const total = (shown.at(-1)?.at ?? 0) + 1;
  const percent = (at: number) => `${((100 * at) / total).toFixed(2)}%`;
  // The page moves up whenever a line would leave it.
  const moves = shown
    .map(({ at }, place) => ({ at, up: Math.max(place + 2 - ROWS, 0) * LINE }))
    .concat({ at: total, up: Math.max(shown.length + 1 - ROWS, 0) * LINE })
    .map(({ at, up }) => `${percent(at)}{transform:translateY(-${up}px)}`);
  const texts = shown.map(
    ({ text, at }, place) =>
      `<text y="${(place + 1) * LINE}" style="animation-delay:${at.toFixed(2)}s">${spans(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="A terminal that plays sluice demo">
<style>
text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#e9ebed;white-space:pre;animation:show 1ms both}
.b{font-weight:700}.d{fill:#9da5ad}.g{fill:#5cc79c}.c{fill:#8ab0ff}
.p{animation:up ${total.toFixed(1)}s step-end both}
@keyframes show{from{opacity:0}to{opacity:1}}
@keyframes up{0%{transform:translateY(0)}${moves.join('')}}
@media (prefers-reduced-motion:reduce){text,.p{animation:none}}
</style>
<rect width="100%" height="100%" rx="8" fill="#15181b"/>
<text x="16" y="24" style="animation:none"><tspan class="d">$</tspan> npm run demo</text>
<svg x="16" y="36" width="${WIDTH - 32}" height="${ROWS * LINE + 6}"><g class="p">
${texts.join('\n')}
</g></svg>
</svg>
`;
}

/** The codes of a terminal as classes; one may hold for several lines. */
function createSpans(): (text: string) => string {
  let style = '';
  const span = (part: string, place: number) => {
    if (place % 2 === 1) {
      style = STYLES[part] ?? '';
      return '';
    }
    const escaped = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return style === '' || part === '' ? escaped : `<tspan class="${style}">${escaped}</tspan>`;
  };
  return text => text.split(CODE).map(span).join('');
}
