// The plotting library with its stylesheet, in a file of its own so that it is fetched only when a plot is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export { uPlot };
