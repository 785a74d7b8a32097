import { html } from 'hono/html';
import { type Html, iconShapes, timeOfDay } from './elements.ts';

const SECTIONS = [
  { path: '/', name: 'Overview' },
  { path: '/runs', name: 'Runs' },
  { path: '/data', name: 'Data' },
  { path: '/sql', name: 'SQL' },
] as const;

interface Page {
  /** Without the name of the product. */
  readonly title: string;
  /** The section it belongs to. */
  readonly section: (typeof SECTIONS)[number]['path'];
  /** As of when it is shown (epoch ms), and in which zone. */
  readonly at: number;
  readonly timeZone: string;
  readonly main: Html;
  /** It is a form, or the answer to one, so it is not loaded again by itself. Default false. */
  readonly isStill?: boolean;
}

export const documentOf = ({ title, section, at, timeZone, main, isStill = false }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sluice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console.css">
<script src="/console.js" defer></script>
${isStill ? '' : html`<noscript><meta http-equiv="refresh" content="60"></noscript>`}
</head>
<body${isStill ? html` data-still` : ''}>
<a class="skip" href="#main">Skip to content</a>
${iconShapes()}
<header class="top"><a class="brand" href="/">Sluice</a><nav aria-label="Console">${SECTIONS.map(
  ({ path, name }) => html`<a href="${path}"${path === section ? html` aria-current="page"` : ''}>${name}</a>`,
)}</nav><p class="live">As of ${timeOfDay(at, timeZone)} ${timeZone}</p></header>
<main id="main">
${main}
</main>
</body>
</html>`;
