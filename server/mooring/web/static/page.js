var e=globalThis,t=e.ShadowRoot&&(e.ShadyCSS===void 0||e.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,n=Symbol(),r=new WeakMap,i=class{constructor(e,t,r){if(this._$cssResult$=!0,r!==n)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,n=this.t;if(t&&e===void 0){let t=n!==void 0&&n.length===1;t&&(e=r.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),t&&r.set(n,e))}return e}toString(){return this.cssText}},a=e=>new i(typeof e==`string`?e:e+``,void 0,n),o=(e,...t)=>new i(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,n),s=(n,r)=>{if(t)n.adoptedStyleSheets=r.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let t of r){let r=document.createElement(`style`),i=e.litNonce;i!==void 0&&r.setAttribute(`nonce`,i),r.textContent=t.cssText,n.appendChild(r)}},c=t?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return a(t)})(e):e,{is:l,defineProperty:u,getOwnPropertyDescriptor:ee,getOwnPropertyNames:te,getOwnPropertySymbols:ne,getPrototypeOf:re}=Object,ie=globalThis,ae=ie.trustedTypes,oe=ae?ae.emptyScript:``,se=ie.reactiveElementPolyfillSupport,d=(e,t)=>e,ce={toAttribute(e,t){switch(t){case Boolean:e=e?oe:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},le=(e,t)=>!l(e,t),ue={attribute:!0,type:String,converter:ce,reflect:!1,useDefault:!1,hasChanged:le};Symbol.metadata??=Symbol(`metadata`),ie.litPropertyMetadata??=new WeakMap;var f=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=ue){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&u(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=ee(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??ue}static _$Ei(){if(this.hasOwnProperty(d(`elementProperties`)))return;let e=re(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(d(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(d(`properties`))){let e=this.properties,t=[...te(e),...ne(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(c(e))}else e!==void 0&&t.push(c(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return s(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?ce:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?ce:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??le)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};f.elementStyles=[],f.shadowRootOptions={mode:`open`},f[d(`elementProperties`)]=new Map,f[d(`finalized`)]=new Map,se?.({ReactiveElement:f}),(ie.reactiveElementVersions??=[]).push(`2.1.2`);var de=globalThis,fe=e=>e,pe=de.trustedTypes,me=pe?pe.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,he=`$lit$`,p=`lit$${Math.random().toFixed(9).slice(2)}$`,ge=`?`+p,_e=`<${ge}>`,m=document,ve=()=>m.createComment(``),ye=e=>e===null||typeof e!=`object`&&typeof e!=`function`,be=Array.isArray,xe=e=>be(e)||typeof e?.[Symbol.iterator]==`function`,Se=`[ 	
\f\r]`,Ce=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,we=/-->/g,Te=/>/g,h=RegExp(`>|${Se}(?:([^\\s"'>=/]+)(${Se}*=${Se}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),Ee=/'/g,De=/"/g,Oe=/^(?:script|style|textarea|title)$/i,g=(e=>(t,...n)=>({_$litType$:e,strings:t,values:n}))(1),_=Symbol.for(`lit-noChange`),v=Symbol.for(`lit-nothing`),ke=new WeakMap,y=m.createTreeWalker(m,129);function Ae(e,t){if(!be(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return me===void 0?t:me.createHTML(t)}var je=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=Ce;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,u=0;for(;u<n.length&&(o.lastIndex=u,c=o.exec(n),c!==null);)u=o.lastIndex,o===Ce?c[1]===`!--`?o=we:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=h):(Oe.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=h):o=Te:o===h?c[0]===`>`?(o=i??Ce,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?h:c[3]===`"`?De:Ee):o===De||o===Ee?o=h:o===we||o===Te?o=Ce:(o=h,i=void 0);let ee=o===h&&e[t+1].startsWith(`/>`)?` `:``;a+=o===Ce?n+_e:l>=0?(r.push(s),n.slice(0,l)+he+n.slice(l)+p+ee):n+p+(l===-2?t:ee)}return[Ae(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},Me=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,u]=je(t,n);if(this.el=e.createElement(l,r),y.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=y.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(he)){let t=u[o++],n=i.getAttribute(e).split(p),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?Ie:r[1]===`?`?Le:r[1]===`@`?Re:Fe}),i.removeAttribute(e)}else e.startsWith(p)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(Oe.test(i.tagName)){let e=i.textContent.split(p),t=e.length-1;if(t>0){i.textContent=pe?pe.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],ve()),y.nextNode(),c.push({type:2,index:++a});i.append(e[t],ve())}}}else if(i.nodeType===8){if(i.data===ge)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(p,e+1))!==-1;)c.push({type:7,index:a}),e+=p.length-1}}a++}}static createElement(e,t){let n=m.createElement(`template`);return n.innerHTML=e,n}};function b(e,t,n=e,r){if(t===_)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=ye(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=b(e,i._$AS(e,t.values),i,r)),t}var Ne=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??m).importNode(t,!0);y.currentNode=r;let i=y.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Pe(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new ze(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=y.nextNode(),a++)}return y.currentNode=m,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Pe=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=v,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=b(this,e,t),ye(e)?e===v||e==null||e===``?(this._$AH!==v&&this._$AR(),this._$AH=v):e!==this._$AH&&e!==_&&this._(e):e._$litType$===void 0?e.nodeType===void 0?xe(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==v&&ye(this._$AH)?this._$AA.nextSibling.data=e:this.T(m.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=Me.createElement(Ae(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new Ne(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=ke.get(e.strings);return t===void 0&&ke.set(e.strings,t=new Me(e)),t}k(t){be(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(ve()),this.O(ve()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=fe(e).nextSibling;fe(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},Fe=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=v,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=v}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=b(this,e,t,0),a=!ye(e)||e!==this._$AH&&e!==_,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=b(this,r[n+o],t,o),s===_&&(s=this._$AH[o]),a||=!ye(s)||s!==this._$AH[o],s===v?e=v:e!==v&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===v?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},Ie=class extends Fe{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===v?void 0:e}},Le=class extends Fe{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==v)}},Re=class extends Fe{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=b(this,e,t,0)??v)===_)return;let n=this._$AH,r=e===v&&n!==v||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==v&&(n===v||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},ze=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){b(this,e)}},Be={M:he,P:p,A:ge,C:1,L:je,R:Ne,D:xe,V:b,I:Pe,H:Fe,N:Le,U:Re,B:Ie,F:ze},Ve=de.litHtmlPolyfillSupport;Ve?.(Me,Pe),(de.litHtmlVersions??=[]).push(`3.3.3`);var He=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Pe(t.insertBefore(ve(),e),e,void 0,n??{})}return i._$AI(e),i},Ue=globalThis,x=class extends f{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=He(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return _}};x._$litElement$=!0,x.finalized=!0,Ue.litElementHydrateSupport?.({LitElement:x});var We=Ue.litElementPolyfillSupport;We?.({LitElement:x}),(Ue.litElementVersions??=[]).push(`4.2.2`);var S=e=>(t,n)=>{n===void 0?customElements.define(e,t):n.addInitializer(()=>{customElements.define(e,t)})},Ge={attribute:!0,type:String,converter:ce,reflect:!1,hasChanged:le},Ke=(e=Ge,t,n)=>{let{kind:r,metadata:i}=n,a=globalThis.litPropertyMetadata.get(i);if(a===void 0&&globalThis.litPropertyMetadata.set(i,a=new Map),r===`setter`&&((e=Object.create(e)).wrapped=!0),a.set(n.name,e),r===`accessor`){let{name:r}=n;return{set(n){let i=t.get.call(this);t.set.call(this,n),this.requestUpdate(r,i,e,!0,n)},init(t){return t!==void 0&&this.C(r,void 0,e,t),t}}}if(r===`setter`){let{name:r}=n;return function(n){let i=this[r];t.call(this,n),this.requestUpdate(r,i,e,!0,n)}}throw Error(`Unsupported decorator location: `+r)};function C(e){return(t,n)=>typeof n==`object`?Ke(e,t,n):((e,t,n)=>{let r=t.hasOwnProperty(n);return t.constructor.createProperty(n,e),r?Object.getOwnPropertyDescriptor(t,n):void 0})(e,t,n)}function w(e){return C({...e,state:!0,attribute:!1})}var qe=(e,t,n)=>(n.configurable=!0,n.enumerable=!0,Reflect.decorate&&typeof t!=`object`&&Object.defineProperty(e,t,n),n);function T(e,t){return(n,r,i)=>{let a=t=>t.renderRoot?.querySelector(e)??null;if(t){let{get:e,set:t}=typeof r==`object`?n:i??(()=>{let e=Symbol();return{get(){return this[e]},set(t){this[e]=t}}})();return qe(n,r,{get(){let n=e.call(this);return n===void 0&&(n=a(this),(n!==null||this.hasUpdated)&&t.call(this,n)),n}})}return qe(n,r,{get(){return a(this)}})}}var Je=e=>(...t)=>({_$litDirective$:e,values:t}),Ye=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},{I:Xe}=Be,Ze={},Qe=(e,t=Ze)=>e._$AH=t,$e=Je(class extends Ye{constructor(){super(...arguments),this.key=v}render(e,t){return this.key=e,t}update(e,[t,n]){return t!==this.key&&(Qe(e),this.key=t),n}}),et=o`
  :host {
    --ground: light-dark(#f6f7f8, #101418);
    --raised: light-dark(#ffffff, #171c22);
    --sunken: light-dark(#eef0f2, #0c1013);
    --text: light-dark(#1b2229, #e3e8ec);
    --quiet: light-dark(#56616c, #9aa6b1);
    --line: light-dark(#dfe3e7, #29313a);
    --edge: light-dark(#c3cad1, #3d4853);
    --accent: light-dark(#0b6679, #5cc3d8);
    --on-accent: light-dark(#ffffff, #08212a);
    --tint: light-dark(#e1f0f3, #12303a);
    --heat: light-dark(#c4e3ea, #17495a);
    --good: light-dark(#1f6e3c, #6fcf93);
    --bad: light-dark(#b3261e, #ff8f86);
    --warn: light-dark(#8a5300, #f0b45b);
    --radius: 5px;
    --s1: 4px;
    --s2: 8px;
    --s3: 12px;
    --s4: 16px;
    --s5: 24px;
    --s6: 32px;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
    background: var(--ground);
    color: var(--text);
    font: 400 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    font-variant-numeric: tabular-nums;
  }
`,E=o`
  :host {
    display: block;
    min-width: 0;
  }
  :host([hidden]) {
    display: none;
  }
  * {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  pre,
  figure {
    margin: 0;
    padding: 0;
  }
  h1 {
    font-size: 1.375rem;
    font-weight: 600;
    letter-spacing: -0.01em;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 0.9375rem;
    font-weight: 600;
    line-height: 1.4;
  }
  a {
    color: var(--accent);
    text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
    text-underline-offset: 0.2em;
  }
  a:hover {
    text-decoration-color: currentcolor;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--radius);
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--raised);
    border: 1px solid var(--edge);
    border-radius: var(--radius);
    padding: var(--s1) var(--s3);
    min-height: 2rem;
    max-width: 100%;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--quiet);
  }
  button:disabled {
    color: var(--quiet);
    cursor: default;
  }
  button[aria-pressed="true"],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  input::placeholder,
  textarea::placeholder {
    color: var(--quiet);
    opacity: 1;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.9286em;
  }
  pre {
    padding: var(--s3);
    overflow: auto;
    background: var(--sunken);
    border-radius: var(--radius);
    line-height: 1.5;
  }
  .quiet {
    color: var(--quiet);
  }
  .good {
    color: var(--good);
  }
  .bad {
    color: var(--bad);
  }
  .warn {
    color: var(--warn);
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: calc(2 * var(--radius));
    padding: var(--s4);
    min-width: 0;
  }
  .stack {
    display: flex;
    flex-direction: column;
    gap: var(--s4);
  }
  .stack.tight {
    gap: var(--s2);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--s2) var(--s3);
  }
  .row.between {
    justify-content: space-between;
  }
  .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
    gap: var(--s4);
    align-items: start;
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: var(--s1) var(--s5);
  }
  .facts > div {
    display: flex;
    gap: var(--s2);
    align-items: baseline;
  }
  .facts dt {
    color: var(--quiet);
    white-space: nowrap;
  }
  .segments {
    display: inline-flex;
  }
  .segments button {
    border-radius: 0;
    margin-inline-start: -1px;
  }
  .segments button:first-child {
    border-start-start-radius: var(--radius);
    border-end-start-radius: var(--radius);
    margin: 0;
  }
  .segments button:last-child {
    border-start-end-radius: var(--radius);
    border-end-end-radius: var(--radius);
  }
  .failure {
    border-inline-start: 3px solid var(--bad);
    background: var(--sunken);
    padding: var(--s3) var(--s4);
    border-radius: var(--radius);
    display: flex;
    flex-direction: column;
    align-items: start;
    gap: var(--s2);
    overflow-wrap: anywhere;
  }
  .empty {
    padding: var(--s5) 0;
    color: var(--quiet);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;function D(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var tt=class extends x{constructor(...e){super(...e),this.copies=[],this.done=``,this.failed=``}static{this.styles=[E,o`
      :host {
        display: inline-block;
      }
      button {
        font-size: 0.8125rem;
        min-height: 1.75rem;
        padding: 0 var(--s2);
      }
    `]}render(){return g`<span class="row" role="group" aria-label="Copy as">
      <span class="quiet" aria-hidden="true">Copy as</span>
      ${this.copies.map(e=>g`<button title=${typeof e.text==`string`?e.text:v} @click=${()=>void this.copy(e)}>${this.done===e.name?`✓ `:this.failed===e.name?`✕ `:``}${e.name}</button>`)}
      <span class="hidden" role="status">${this.done&&`${this.done} copied`}${this.failed&&`${this.failed} could not be copied`}</span>
    </span>`}async copy({name:e,text:t}){try{await nt(typeof t==`string`?t:await t()),this.done=e}catch{this.failed=e}setTimeout(()=>this.done=this.failed=``,2e3)}};D([C({attribute:!1})],tt.prototype,`copies`,void 0),D([w()],tt.prototype,`done`,void 0),D([w()],tt.prototype,`failed`,void 0),tt=D([S(`mooring-copy`)],tt);async function nt(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var rt=new Intl.NumberFormat(`en-US`,{maximumFractionDigits:1}),it=[``,`Ki`,`Mi`,`Gi`,`Ti`,`Pi`];function O(e){return rt.format(e)}function k(e,t){return`${O(e)} ${t}${e===1?``:`s`}`}function A(e,t){return e===`cpu`?O(t/1e3):st(e)?ct(t):O(t)}var at={n:1e-9,u:1e-6,m:.001,"":1,k:1e3,M:1e6,G:1e9,T:0xe8d4a51000,P:0x38d7ea4c68000,E:0xde0b6b3a7640000,Ki:1024,Mi:2**20,Gi:2**30,Ti:2**40,Pi:2**50,Ei:2**60};function ot(e,t){let[,n=``,r=``]=/^([-+.\deE]*\d)([a-zA-Z]*)$/.exec(t)??[];return Number(n)*(at[r]??NaN)*(e===`cpu`?1e3:1)}function st(e){return/^(memory|ephemeral-storage|hugepages-)/.test(e)}function ct(e){let t=Math.min(it.length-1,Math.max(0,Math.floor(Math.log2(Math.abs(e)||1)/10)));return`${O(e/1024**t)}${it[t]}`}function lt(e){return e===void 0?``:ut(parseFloat(e))}function ut(e){return e<.001?`${O(Math.round(e*1e6))} µs`:e<1?`${O(e*1e3)} ms`:e<120?`${O(Math.round(e*10)/10)} s`:e<7200?`${O(Math.floor(e/60))} min`:e<172800?`${O(Math.floor(e/3600))} h`:`${O(Math.floor(e/86400))} d`}function j(e,t=Date.now()){if(!e)return``;let n=(t-Date.parse(e))/1e3;return n<1?`now`:ut(Math.floor(n))}function M(e,t){let n=e.nodes[t];return n.slice(0,n.length-e.suffix.length)}function dt({raw:e,normalized:t}){return e.every(t=>t===e[0])&&t.every(e=>e===t[0])}function ft(e,t){let n=e.verdicts[t]??0,r=new Set(n?[n]:[]),{nodes:i,verdicts:a}=e.rejections;for(let e=mt(i,t);i[e]===t;e++)r.add(a[e]);return Array.from(r,t=>e.distinct[t])}function pt(e,t){let n=mt(e.scored,t);return e.scored[n]===t?n:-1}function mt(e,t){let n=0,r=e.length;for(;n<r;){let i=n+r>>1;e[i]<t?n=i+1:r=i}return n}var ht={NodeResourcesFit:[[/Too many pods/,`Nodes are at their limit of pods: add a node, or raise maxPods of the kubelet.`],[/Insufficient (\S+)/,`Add a node with enough $1, lower the request, or see what holds $1 now.`]],NodeAffinity:[[/./,`Label a node as the pod's nodeSelector or node affinity asks, or correct the pod.`]],TaintToleration:[[/not-ready|unreachable|disk-pressure|memory-pressure/,`Repair the nodes: their taint says that they are not healthy.`],[/./,`Add the toleration to the pod, or remove the taint from a node.`]],NodeUnschedulable:[[/./,`Uncordon a node: kubectl uncordon NODE.`]],NodePorts:[[/./,`The host port is taken: drop hostPort, or add a node where it is free.`]],NodeName:[[/./,`spec.nodeName names another node: remove it from the pod.`]],InterPodAffinity:[[/existing pods/,`A running pod's anti-affinity keeps this pod away: check pods with anti-affinity to its labels.`],[/anti-affinity/,`More replicas than places: add a node or zone, or make the anti-affinity preferred.`],[/./,`No pod matches the affinity on a node with room: check its labels and topologyKey.`]],PodTopologySpread:[[/missing/,`Label the nodes with the constraint's topologyKey.`],[/./,`Add room in the emptiest zone, raise maxSkew, or use whenUnsatisfiable: ScheduleAnyway.`]],VolumeBinding:[[/unbound immediate/,`Bind the PersistentVolumeClaim, or use a StorageClass with WaitForFirstConsumer.`],[/not found|non-existent/,`Create the PersistentVolumeClaim or volume that the pod names.`],[/./,`Add a node where the claim's volume can be: its zone or host is fixed by the volume.`]],VolumeZone:[[/./,`Add a node in the volume's zone.`]],NodeVolumeLimits:[[/./,`Nodes have as many volumes attached as they take: add a node.`]],VolumeRestrictions:[[/./,`Another pod uses the volume exclusively: wait for it, or use ReadWriteMany.`]],DynamicResources:[[/./,`No free device satisfies the claim: add devices, or relax the claim's selectors.`]],SchedulingGates:[[/./,`Whoever set the pod's schedulingGates has to remove them.`]],DefaultPreemption:[[/./,`Raise the pod's priority, or make room by hand.`]]},gt=`See the plugin's reason; what it needs is in its documentation.`;function _t(e,t){for(let[n,r]of ht[e??``]??[]){let e=n.exec(t??``);if(e)return r.replaceAll(`$1`,e[1]??``)}return gt}function vt(e,t){return ft(e,t).flatMap(({plugin:n=``,reasons:r=[``]})=>r.map(r=>({plugin:n,reason:r,figures:xt(e,t,r),step:_t(n,r)})))}function yt(e){let t,[n,r]=[1/0,1/0];for(let i=0;i<e.nodes.length;i++){let a=ft(e,i).length,o=a&&a<=n?bt(e,i):1/0;a&&(a<n||a===n&&o<r)&&([t,n,r]=[i,a,o])}return t}function bt(e,t){return e.resources.map(({requested:e,free:n})=>e?Math.max(0,e-n[t])/e:0).reduce((e,t)=>e+t,0)}function xt(e,t,n){let r=/^Too many pods/.test(n)?`pods`:/^Insufficient (\S+)/.exec(n)?.[1],i=e.resources.find(e=>e.name===r);if(!i)return``;let a=i.free[t];return`${`needs ${A(i.name,i.requested)}, has ${A(i.name,Math.max(0,a))} left`}: ${A(i.name,i.requested-a)} short`}var St=4,Ct=8,wt={int8:(e,t,n)=>new Int8Array(e,t,n),uint8:(e,t,n)=>new Uint8Array(e,t,n),int16:(e,t,n)=>new Int16Array(e,t,n),uint16:(e,t,n)=>new Uint16Array(e,t,n),int32:(e,t,n)=>new Int32Array(e,t,n),uint32:(e,t,n)=>new Uint32Array(e,t,n),float64:(e,t,n)=>new Float64Array(e,t,n)};function Tt(e){if(e.byteLength<St)throw Error(`columns: ${e.byteLength} bytes are too few for a header`);let t=new DataView(e).getUint32(0,!0),n=St+t;if(n>e.byteLength)throw Error(`columns: the header of ${t} bytes is cut off`);let r=JSON.parse(new TextDecoder().decode(new Uint8Array(e,St,t))),i=Math.ceil(n/Ct)*Ct,a=new Map;for(let{name:t,dtype:n,shape:o,offset:s}of r.arrays){let r=wt[n];if(!r)throw Error(`columns: array ${t} has the unknown type ${n}`);let c=o.reduce((e,t)=>e*t,1);try{a.set(t,r(e,i+s,c))}catch{throw Error(`columns: array ${t} of ${c} ${n} at ${s} lies outside the answer`)}}return{header:r,arrays:a}}function Et(e){let t=e.length>1?e[0]:``;for(let n of e)for(;!n.endsWith(t)||n===t;){let e=t.indexOf(`.`,1);if(e<0)return``;t=t.slice(e)}return t}var Dt=new Uint32Array;function Ot(e){let{header:t,arrays:n}=Tt(e),r=e=>n.get(e)??Dt,i=new Uint8Array(t.nodes.length),a=e=>r(e).length?r(e):i;return{made:t.made,decision:t.decision,differences:t.differences??[],pod:t.pod,assigned:t.assigned,provenance:t.provenance,verdict:t.verdict,seed:BigInt(t.seed),nodes:t.nodes,suffix:Et(t.nodes),distinct:t.distinct,verdicts:r(`verdicts`),scored:r(`scored`),plugins:t.plugins.map(({name:e,weight:t},n)=>({name:e,weight:t,raw:r(`raw.${n}`),normalized:r(`normalized.${n}`)})),selected:t.selected,ties:r(`ties`),rejections:{nodes:r(`rejections.nodes`),verdicts:r(`rejections.verdicts`)},resources:t.resources.map(({name:e,requested:t},n)=>({name:e,requested:t,free:a(`free.${n}`)})),warnings:t.warnings,evaluated:t.evaluated,feasible:t.feasible}}function kt(e,t,n,r){let i=pt(e,n),a=pt(e,r);return i<0||a<0?[]:e.plugins.map(({name:e,normalized:n},r)=>{let o=t[r],[s,c]=[n[i]*o,n[a]*o];return{plugin:e,first:s,second:c,lead:s-c}}).sort((e,t)=>Math.abs(t.lead)-Math.abs(e.lead))}var At=3;function jt(e){let t=Mt(e),n=[...(e.decision?.rejectingPlugins??[]).filter(e=>t.has(e)),...t.keys()],r=e.nodes.length;return[...new Set(n)].map(e=>{let n=[...t.get(e).values()].sort((e,t)=>t.count-e.count),i=n.reduce((e,t)=>e+t.count,0);return r-=i,{plugin:e,rejected:i,left:r,reasons:n}})}function Mt(e){let t=new Map;return e.verdicts.forEach((n,r)=>{if(!n)return;let{plugin:i=``,reasons:a=[]}=e.distinct[n],o=a.join(`, `),s=t.get(i)??new Map;t.set(i,s);let c=s.get(o)??{text:o,count:0,examples:[]};s.set(o,c),c.count++,c.examples.length<At&&c.examples.push(r)}),t}var Nt=(1n<<64n)-1n,N=128,Pt=[7640891576956012808n,13503953896175478587n,4354685564936845355n,11912009170470909681n,5840696475078001361n,11170449401992604703n,2270897969802886507n,6620516959819538809n],Ft=[`0123456789abcdef`,`ea489fd61c02b753`,`b8c052fdae367194`,`7931dcbe265a40f8`,`905724afe1bc683d`,`2c6a0b834d75fe19`,`c51fed4a0763928b`,`db7ec13950f4862a`,`6fe9b308c2d714a5`,`a2847615fb9e3cd0`,`0123456789abcdef`,`ea489fd61c02b753`].map(e=>Array.from(e,e=>parseInt(e,16))),It=[[0,4,8,12],[1,5,9,13],[2,6,10,14],[3,7,11,15],[0,5,10,15],[1,6,11,12],[2,7,8,13],[3,4,9,14]];function Lt(e,t,n){return n>1?Number(Rt(e,t)%BigInt(n)):0}function Rt(e,t){let n=new TextEncoder().encode(t),r=new Uint8Array(N*(1+Math.ceil(n.length/N)));new DataView(r.buffer).setBigUint64(0,e&Nt,!0),r.set(n,N);let i=[...Pt];i[0]^=BigInt(16844808);let a=N+n.length;for(let e=0;e<r.length;e+=N)zt(i,new DataView(r.buffer,e,N),Math.min(e+N,a),e+N>=a);return i[0]}function zt(e,t,n,r){let i=[...e,...Pt];i[12]^=BigInt(n),r&&(i[14]^=Nt);for(let e of Ft)It.forEach(([n,r,a,o],s)=>{let c=n=>t.getBigUint64(8*e[n],!0);Bt(i,n,r,a,o,c(2*s),c(2*s+1))});for(let t=0;t<8;t++)e[t]^=i[t]^i[t+8]}function Bt(e,t,n,r,i,a,o){let s=(a,o,s)=>{e[t]=e[t]+e[n]+a&Nt,e[i]=Vt(e[i]^e[t],o),e[r]=e[r]+e[i]&Nt,e[n]=Vt(e[n]^e[r],s)};s(a,32n,24n),s(o,16n,63n)}function Vt(e,t){return(e>>t|e<<64n-t)&Nt}var Ht=NaN;function Ut(e,t){let n=new Float64Array(e.nodes.length).fill(Ht),r=Gt(e,t);e.scored.forEach((e,t)=>n[e]=r[t]);let i=Uint32Array.from(e.scored).sort((e,t)=>n[t]-n[e]||e-t),a=n[i[0]??-1],o=0;for(;o<i.length&&n[i[o]]===a;)o++;let s=Array.from(i.subarray(0,o)),c=Kt(e,s);return i.set([...s].sort((e,t)=>Number(t===c)-Number(e===c))),{totals:n,order:qt(i,n),ties:s,selected:c,runnerUp:i[o]}}function Wt(e){return e.plugins.map(e=>e.weight)}function Gt(e,t){let n=new Float64Array(e.scored.length);return e.plugins.forEach(({normalized:e},r)=>{let i=t[r];for(let t=0;t<n.length;t++)n[t]+=e[t]*i}),n}function Kt(e,t){return t.length?t[Lt(e.seed,e.pod.uid??``,t.length)]:e.selected}function qt(e,t){let n=new Uint32Array(t.length);n.set(e);let r=e.length;for(let e=0;e<t.length;e++)Number.isNaN(t[e])&&(n[r++]=e);return n}var Jt=new Intl.Collator(`en`,{numeric:!0});function Yt(e){return/=|^\s*!|\b(not)?in\s*\([^)]*\)/.test(e)}function Xt(e,t,n,r,i){let a=typeof i==`string`?$t(e,i):t=>i.has(e.nodes[t]),o=Array.from(t.order).filter(a);if(n.column===`total`&&n.descending)return o;let s=Zt(e,t,n.column,r);return o.sort(n.descending?(e,t)=>s(t,e):s)}function Zt(e,{totals:t},n,r){if(n===`node`)return(t,n)=>Jt.compare(e.nodes[t],e.nodes[n]);if(n===`verdict`)return(t,n)=>e.verdicts[t]-e.verdicts[n];if(n===`total`)return Qt(e=>t[e]);let i=e.plugins[Number(n.slice(7))],a=r===`raw`?i.raw:i.normalized;return Qt(t=>a[pt(e,t)]??NaN)}function Qt(e){let t=t=>Number.isNaN(e(t))?-1/0:e(t);return(e,n)=>t(e)-t(n)||0}function $t(e,t){let n=t.trim().toLowerCase();if(!n)return()=>!0;let r=e=>e.toLowerCase().includes(n),i=new Set(e.distinct.filter(({plugin:e=``,reasons:t=[]})=>r(`${e}: ${t.join(`, `)}`)));return t=>r(e.nodes[t])||ft(e,t).some(e=>i.has(e))}function en(e,t,n){let{assigned:r}=e,i=t.selected===void 0?rn(e):tn(e,t,t.selected,n);return r?`is on ${r}; today it ${i}`:i}function tn(e,t,n,r){let i=`${r.some((t,n)=>t!==e.plugins[n].weight)?`would go`:`goes`} to ${M(e,n)}${e.nodes[n]===e.assigned?` too`:``}`;if(!e.plugins.length||!e.scored.length)return`${i}: ${e.feasible===1?`the only feasible node, so nothing was scored`:`no plugin scores`}.`;let a=100*r.reduce((e,t)=>e+t,0),o=[`${O(t.totals[n])} of ${O(a)} points`];return t.ties.length>1&&o.push(`${O(t.ties.length)} nodes tied, seed ${e.seed} decided`),`${i}: ${o.join(`, `)}${nn(e,t,r)}.`}function nn(e,{selected:t,runnerUp:n,totals:r},i){if(t===void 0||n===void 0)return``;let a=r[t]-r[n],o=kt(e,i,t,n).find(e=>e.lead>0);return`; ${M(e,n)} is ${O(a)} behind${o?` (${o.plugin})`:``}`}function rn(e){let t=e.decision?.nominatedNode,n=t?` Room is being made for it on ${t}.`:``;return`has no node: ${e.verdict.message||(e.verdict.reasons??[]).join(`, `)||`no node is feasible`}${n}`}function an(e,t){let n=e.plugins.flatMap(({name:e,weight:n},r)=>t[r]===n?[]:[{name:e,weight:t[r]}]),r=n.filter(({weight:e})=>!e),i=n.filter(({weight:e})=>e);return[`apiVersion: kubescheduler.config.k8s.io/v1`,`kind: KubeSchedulerConfiguration`,`profiles:`,`- schedulerName: ${JSON.stringify(e.provenance.profile??`default-scheduler`)}`,`  plugins:`,`    score:${n.length?``:` {}`}`,...i.length?[`      enabled:`,...i.flatMap(({name:e,weight:t})=>[`      - name: ${e}`,`        weight: ${t}`])]:[],...r.length?[`      disabled:`,...r.map(({name:e})=>`      - name: ${e}`)]:[],``].join(`
`)}var on=class extends x{constructor(...e){super(...e),this.first=``,this.second=``,this.differences=[]}static{this.styles=[E,o`
      table {
        width: 100%;
        border-collapse: collapse;
      }
      th {
        font-weight: inherit;
        text-align: start;
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s2);
        vertical-align: middle;
      }
      td,
      th:nth-child(n + 2) {
        text-align: end;
      }
      tbody th {
        color: inherit;
        overflow-wrap: anywhere;
      }
      .bar {
        width: 30%;
        min-width: 5rem;
      }
      .axis {
        display: grid;
        grid-template-columns: 1fr 1fr;
        height: 10px;
        background: linear-gradient(var(--edge), var(--edge)) center / 1px 100% no-repeat;
      }
      .axis span {
        height: 100%;
        border-radius: 2px;
      }
      .ahead {
        background: var(--accent);
        justify-self: end;
      }
      .behind {
        background: var(--warn);
        grid-column: 2;
      }
      @media (max-width: 40rem) {
        .bar {
          display: none;
        }
        th,
        td {
          padding: var(--s1);
        }
      }
      tfoot td,
      tfoot th {
        border-top: 1px solid var(--line);
        font-weight: 600;
        color: inherit;
      }
    `]}render(){let e=e=>this.differences.reduce((t,n)=>t+e(n),0),t=e(e=>e.lead),n=Math.max(1,...this.differences.map(e=>Math.abs(e.lead)));return g`<div class="stack tight">
      <p>${this.verdict(t)}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">${this.first}</th>
            <th scope="col" class="bar"><span class="hidden">Which node is ahead</span></th>
            <th scope="col">${this.second}</th>
            <th scope="col">Lead</th>
          </tr>
        </thead>
        <tbody>
          ${this.differences.map(e=>g`<tr>
                <th scope="row">${e.plugin}</th>
                <td>${O(e.first)}</td>
                <td class="bar">${sn(e.lead/n)}</td>
                <td>${O(e.second)}</td>
                <td>${cn(e.lead)}</td>
              </tr>`)}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td>${O(e(e=>e.first))}</td>
            <td class="bar"></td>
            <td>${O(e(e=>e.second))}</td>
            <td>${cn(t)}</td>
          </tr>
        </tfoot>
      </table>
    </div>`}verdict(e){if(!e)return g`<strong>${this.first}</strong> and <strong>${this.second}</strong> are tied.`;let[t,n]=e>0?[this.first,this.second]:[this.second,this.first];return g`<strong>${t}</strong> is ${O(Math.abs(e))} ahead of <strong>${n}</strong>.`}};D([C()],on.prototype,`first`,void 0),D([C()],on.prototype,`second`,void 0),D([C({attribute:!1})],on.prototype,`differences`,void 0),on=D([S(`mooring-comparison`)],on);function sn(e){let t=`width: ${100*Math.abs(e)}%`;return g`<span class="axis" aria-hidden="true"><span class=${e>0?`ahead`:`behind`} .style=${t}></span></span>`}function cn(e){return e>0?`+${O(e)}`:e<0?`−${O(-e)}`:`0`}var ln=class extends x{constructor(...e){super(...e),this.stages=[],this.total=0}static{this.styles=[E,o`
      ol {
        list-style: none;
        display: grid;
        grid-template-columns: fit-content(50%) minmax(4rem, 1fr) auto;
        gap: var(--s2) var(--s3);
      }
      .stage {
        display: grid;
        grid-column: 1 / -1;
        grid-template-columns: subgrid;
        row-gap: 0;
        align-items: center;
      }
      .name {
        overflow-wrap: anywhere;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: var(--sunken);
        display: flex;
        overflow: hidden;
      }
      .left {
        background: var(--accent);
      }
      .rejected {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 5px);
      }
      .figure {
        text-align: end;
        min-width: 3.5rem;
      }
      ul {
        grid-column: 1 / -1;
        list-style: none;
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      li button {
        all: unset;
        cursor: pointer;
        text-decoration: underline;
        text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
        text-underline-offset: 0.2em;
        overflow-wrap: anywhere;
      }
      li button:hover {
        color: var(--text);
      }
      li button:focus-visible {
        outline: 2px solid var(--accent);
      }
    `]}render(){let e=this.stages.at(-1)?.left??this.total;return g`<ol>
      <li class="stage">
        <span class="name">All nodes</span>${this.track(this.total,0)}<span class="figure">${O(this.total)}</span>
      </li>
      ${this.stages.map(e=>this.stage(e))}
      <li class="stage">
        <strong class="name">Feasible</strong>${this.track(e,0)}<strong class="figure ${e?`good`:`bad`}"
          >${e?`✓`:`✕`} ${O(e)}</strong
        >
      </li>
    </ol>`}stage({plugin:e,rejected:t,left:n,reasons:r}){return g`<li class="stage">
      <span class="name" title=${e}>${e||`mooring`}</span>
      ${this.track(n,t)}
      <span class="figure bad" title="${k(t,`node`)} rejected, ${O(n)} left">−${O(t)}</span>
      <ul>
        ${r.map(e=>g`<li>
              <button title="Show these nodes" @click=${()=>this.show(e.text)}>${e.text||`no reason given`}</button>
              ${r.length>1?g` · ${O(e.count)}`:v}
            </li>`)}
      </ul>
    </li>`}track(e,t){let n=e=>`width: ${100*e/Math.max(1,this.total)}%`;return g`<span class="track" aria-hidden="true"
      ><span class="left" .style=${n(e)}></span><span class="rejected" .style=${n(t)}></span
    ></span>`}show(e){this.dispatchEvent(new CustomEvent(`mooring-filter`,{detail:e}))}};D([C({attribute:!1})],ln.prototype,`stages`,void 0),D([C({type:Number})],ln.prototype,`total`,void 0),ln=D([S(`mooring-funnel`)],ln);var un=480,dn=900;function fn(e,t,n,r){let i=e=>Math.min(r[e]?dn:un,n[e]??0),a=t.map(()=>void 0),o=t.flatMap((e,t)=>r[t]?[]:[t]),s=e;t.forEach((e,t)=>s-=r[t]?i(t):e);let c=o.filter(e=>i(e)>t[e]),l=c.reduce((e,n)=>e+i(n)-t[n],0);for(let e of o){let n=i(e)?t[e]-i(e):0,r=Math.min(n,l-s);r<=0||(a[e]=t[e]-r,s+=r)}for(let e of c){let n=Math.min(i(e)-t[e],s);n<=0||(a[e]=t[e]+n,s-=n)}return a}var P=30,pn=4,F=class extends x{constructor(...e){super(...e),this.columns=[],this.rows=[],this.keyOf=e=>String(e),this.marksOf=()=>``,this.restOf=()=>void 0,this.label=``,this.empty=`Nothing here.`,this.first=0,this.shown=40,this.from=1,this.to=1/0,this.widths=[],this.declared=[],this.wanted=[],this.told=``,this.sized=new ResizeObserver(()=>{this.forgetWidths(),this.measure(),this.updateComplete.then(()=>this.fit())}),this.measure=()=>{let{scrollTop:e,clientHeight:t}=this.scroller;this.shown=Math.ceil(t/P)+8,this.first=Math.max(0,Math.min(Math.floor(e/P)-pn,this.rows.length-this.shown)),this.measureColumns()}}static{this.styles=[E,o`
      .scroller {
        overflow: auto;
        max-height: var(--grid-height, 70vh);
        border: 1px solid var(--line);
        border-radius: calc(2 * var(--radius));
        background: var(--raised);
        overscroll-behavior-x: contain;
      }
      .scroller:focus-visible {
        outline-offset: -2px;
      }
      .all {
        min-width: max-content;
        position: relative;
      }
      .line {
        display: grid;
        height: 30px;
        align-items: stretch;
        contain: layout style;
      }
      .titles {
        position: sticky;
        top: 0;
        z-index: 2;
        background: var(--sunken);
        border-bottom: 1px solid var(--line);
      }
      .window {
        position: absolute;
        inset-inline: 0;
      }
      .line > * {
        padding: 0 var(--s3);
        line-height: 30px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        min-width: 0;
      }
      .line > :first-child {
        position: sticky;
        left: 0;
        z-index: 1;
        background: inherit;
        border-inline-end: 1px solid var(--line);
      }
      .rest {
        grid-column: 2 / -1;
      }
      .numeric {
        text-align: end;
      }
      [role="columnheader"] {
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      [role="columnheader"] button {
        all: unset;
        cursor: pointer;
        max-width: 100%;
        overflow: hidden;
        text-overflow: ellipsis;
        vertical-align: top;
      }
      [role="columnheader"] button:hover {
        color: var(--text);
      }
      [role="columnheader"] button:focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      [aria-sort] {
        color: var(--text);
        font-weight: 600;
      }
      .body .line {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        cursor: default;
      }
      .body .line:hover {
        background: var(--sunken);
      }
      .line.selected {
        font-weight: 600;
      }
      .line.picked {
        background: var(--tint) !important;
      }
      .line.rejected .cell:first-child {
        color: var(--quiet);
      }
      .line.active {
        background: var(--sunken);
      }
      .scroller:focus-visible .line.active {
        box-shadow: inset 3px 0 var(--accent);
        background: var(--tint);
      }
      .empty {
        padding: var(--s5) var(--s4);
      }
      .bar {
        display: grid;
        grid-template-columns: 1fr max-content;
        gap: var(--s2);
        align-items: center;
      }
      .bar i {
        height: 8px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--bar, var(--accent)) var(--share), var(--sunken) var(--share));
        border: 1px solid var(--line);
      }
      .heat {
        display: block;
        margin: 0 calc(-1 * var(--s3));
        padding: 0 var(--s3);
        background: linear-gradient(to left, var(--heat) var(--share), transparent var(--share));
      }
    `]}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>this.sized.observe(this.scroller))}disconnectedCallback(){super.disconnectedCallback(),this.sized.disconnect()}updated(e){e.has(`columns`)&&this.measureColumns(),(e.has(`columns`)||e.has(`rows`))&&this.fit(),this.tellRange()}willUpdate(e){e.has(`columns`)&&this.forgetWidths();let t=this.awaited===void 0?void 0:this.rows[this.awaited];t!==void 0&&([this.activeKey,this.awaited]=[this.keyOf(t),void 0]),e.has(`rows`)&&(this.first=Math.max(0,Math.min(this.first,this.rows.length-this.shown)))}render(){let e=[...this.columns.map(({width:e},t)=>this.widths[t]===void 0?e:`${this.widths[t]}px`),`auto`].join(` `),t=Math.min(this.rows.length,this.first+this.shown),n=this.activeIndex(this.first,t);return g`<div
      class="scroller"
      role="grid"
      tabindex="0"
      aria-label=${this.label}
      aria-rowcount=${this.rows.length+1}
      aria-colcount=${this.columns.length}
      aria-activedescendant=${n<0?v:`row-${n}`}
      @scroll=${this.measure}
      @keydown=${this.onKey}
    >
      <div class="all" role="presentation">
        <div class="titles line" role="row" aria-rowindex="1" .style=${`grid-template-columns: ${e}`}>
          ${this.columns.map(e=>this.heading(e))}
        </div>
        <div class="body" role="presentation" .style=${`height: ${this.rows.length*P}px`}>
          <div class="window" role="presentation" .style=${`top: ${(this.first+1)*P}px`}>
            ${Array.from({length:Math.max(0,t-this.first)},(t,r)=>this.line(this.first+r,e,n))}
          </div>
        </div>
      </div>
      ${this.rows.length?v:g`<p class="empty">${this.empty}</p>`}
    </div>`}reveal(e){if(e<0||e>=this.rows.length)return;let t=this.rows[e];[this.activeKey,this.awaited]=t===void 0?[void 0,e]:[this.keyOf(t),void 0];let n=e*P,r=this.scroller.clientHeight-60;n<this.scroller.scrollTop?this.scroller.scrollTop=n:n>this.scroller.scrollTop+r&&(this.scroller.scrollTop=n-r),this.measure()}heading(e){let t=this.sorting?.column===e.id?this.sorting:void 0,n=t&&(t.descending?`descending`:`ascending`),r=t?t.descending?` ↓`:` ↑`:``;return g`<div role="columnheader" aria-colindex=${this.columns.indexOf(e)+1} class=${e.numeric?`numeric`:``} aria-sort=${n??v} title=${e.title}>
      ${e.sortable?g`<button @click=${()=>this.tell(`mooring-sort`,e.id)}>${e.title}${r}</button>`:e.title}
    </div>`}line(e,t,n){let r=this.rows[e];return r===void 0?hn(e):g`<div
      class="line ${this.marksOf(r)} ${e===n?`active`:``}"
      role="row"
      id="row-${e}"
      aria-rowindex=${e+2}
      aria-selected=${e===n}
      .style=${`grid-template-columns: ${t}`}
      @click=${e=>this.onClick(e,r)}
    >
      ${this.columns.slice(0,1).map(e=>gn(e,r,0))} ${this.rest(r)}
    </div>`}rest(e){let t=this.restOf(e);return t?g`<div role="gridcell" class="cell rest" aria-colindex="2" aria-colspan=${this.columns.length-1}>${t}</div>`:this.columns.slice(this.from,this.to).map((t,n)=>gn(t,e,this.from+n))}activeIndex(e=0,t=this.rows.length){let{awaited:n=-1}=this;if(this.activeKey===void 0)return n>=e&&n<t?n:-1;for(let n=e;n<t;n++){let e=this.rows[n];if(e!==void 0&&this.keyOf(e)===this.activeKey)return n}return-1}tellRange(){let e=[this.first,Math.min(this.rows.length,this.first+this.shown)];this.told!==e.join()&&(this.told=e.join(),this.tell(`mooring-range`,e))}fit(){let e=this.scroller.querySelectorAll(`[role="columnheader"]`);this.widths.length||(this.declared=Array.from(e,e=>e.offsetWidth));for(let e of this.scroller.querySelectorAll(`.line > [aria-colindex]:not(.rest)`)){let t=Number(e.ariaColIndex)-1;this.wanted[t]=Math.max(this.wanted[t]??0,Math.ceil(mn(e)))}let t=this.columns.map(({width:e})=>/\dfr/.test(e)),n=fn(this.scroller.clientWidth,this.declared,this.wanted,t);n.join()!==this.widths.join()&&(this.widths=n)}forgetWidths(){[this.widths,this.declared,this.wanted]=[[],[],[]]}measureColumns(){let{scrollLeft:e,clientWidth:t}=this.scroller,n=Array.from(this.scroller.querySelectorAll(`[role="columnheader"]`)),r=n=>n.offsetLeft<e+t&&n.offsetLeft+n.offsetWidth>e,i=n.flatMap((e,t)=>t&&r(e)?[t]:[]);[this.from,this.to]=[i[0]??1,(i.at(-1)??n.length)+1]}onClick(e,t){e.composedPath().some(e=>e instanceof HTMLAnchorElement)||(this.activeKey=this.keyOf(t),this.tell(`mooring-open`,t))}onKey(e){if(e.target!==this.scroller)return;let t=Math.max(1,Math.floor(this.scroller.clientHeight/P)-2),n={ArrowDown:1,ArrowUp:-1,PageDown:t,PageUp:-t,Home:-1/0,End:1/0}[e.key],r=this.activeIndex(),i=this.rows[r];if(n!==void 0)this.reveal(Math.max(0,Math.min(this.rows.length-1,r+n)));else if(e.key===`Enter`&&i!==void 0)this.tell(`mooring-open`,i);else if(e.key===` `&&i!==void 0)this.tell(`mooring-pick`,i);else return;e.preventDefault()}tell(e,t){this.dispatchEvent(new CustomEvent(e,{detail:t}))}};D([C({attribute:!1})],F.prototype,`columns`,void 0),D([C({attribute:!1})],F.prototype,`rows`,void 0),D([C({attribute:!1})],F.prototype,`keyOf`,void 0),D([C({attribute:!1})],F.prototype,`marksOf`,void 0),D([C({attribute:!1})],F.prototype,`restOf`,void 0),D([C({attribute:!1})],F.prototype,`sorting`,void 0),D([C()],F.prototype,`label`,void 0),D([C()],F.prototype,`empty`,void 0),D([w()],F.prototype,`activeKey`,void 0),D([w()],F.prototype,`first`,void 0),D([w()],F.prototype,`shown`,void 0),D([w()],F.prototype,`from`,void 0),D([w()],F.prototype,`to`,void 0),D([w()],F.prototype,`widths`,void 0),D([T(`.scroller`)],F.prototype,`scroller`,void 0),F=D([S(`mooring-grid`)],F);function mn(e){let t=e.offsetWidth-e.clientWidth;if(e.scrollWidth>e.clientWidth)return e.scrollWidth+t+1;let n=document.createRange();n.selectNodeContents(e);let r=getComputedStyle(e);return n.getBoundingClientRect().width+parseFloat(r.paddingLeft)+parseFloat(r.paddingRight)+t+1}function hn(e){return g`<div class="line" role="row" aria-rowindex=${e+2} aria-busy="true"><div role="gridcell" class="quiet">…</div></div>`}function gn(e,t,n){return g`<div
    role="gridcell"
    class=${e.numeric?`cell numeric`:`cell`}
    aria-colindex=${n+1}
    .style=${`grid-column: ${n+1}`}
  >
    ${e.cell(t)}
  </div>`}var _n=class extends x{constructor(...e){super(...e),this.totals=new Float64Array,this.sized=new ResizeObserver(()=>this.paint()),this.scheme=matchMedia(`(prefers-color-scheme: dark)`),this.repaint=()=>this.requestUpdate()}static{this.styles=[E,o`
      canvas {
        display: block;
        width: 100%;
        height: 26px;
        border-radius: var(--radius);
        background: var(--sunken);
        image-rendering: pixelated;
        --low: var(--heat);
        --high: var(--accent);
      }
    `]}connectedCallback(){super.connectedCallback(),this.scheme.addEventListener(`change`,this.repaint),addEventListener(`mooring-theme`,this.repaint),this.updateComplete.then(()=>this.sized.observe(this.canvas))}disconnectedCallback(){super.disconnectedCallback(),this.scheme.removeEventListener(`change`,this.repaint),removeEventListener(`mooring-theme`,this.repaint),this.sized.disconnect()}render(){return g`<canvas role="img" aria-label=${this.words()} @click=${this.onClick} height="1"></canvas>`}updated(){this.paint()}words(){let{low:e,high:t,scored:n}=this.range(),r=n?`totals from ${O(e)} to ${O(t)}`:`no totals`;return`${k(this.totals.length,`node`)}, ${O(n)} of them scored, ${r}; the table below has each`}range(){let[e,t,n]=[1/0,-1/0,0];for(let r of this.totals)Number.isNaN(r)||(n++,r<e&&(e=r),r>t&&(t=r));return{low:e,high:t,scored:n}}paint(){let e=Math.max(1,Math.min(this.totals.length,Math.round(this.canvas.clientWidth))),t=new Float64Array(e).fill(NaN);this.totals.forEach((n,r)=>{let i=Math.floor(r*e/this.totals.length);!(t[i]>=n)&&!Number.isNaN(n)&&(t[i]=n)});let{low:n,high:r}=this.range(),[i,a]=this.colours(),o=new ImageData(e,1);t.forEach((e,t)=>{if(Number.isNaN(e))return;let s=r>n?(e-n)/(r-n):1;for(let e=0;e<3;e++)o.data[4*t+e]=i[e]+s*(a[e]-i[e]);o.data[4*t+3]=255}),this.canvas.width=e,this.canvas.getContext(`2d`).putImageData(o,0,0)}colours(){let e=getComputedStyle(this.canvas);return[vn(this.canvas,e,`--low`),vn(this.canvas,e,`--high`)]}onClick(e){let t=Math.floor(e.offsetX/this.canvas.clientWidth*this.totals.length);this.dispatchEvent(new CustomEvent(`mooring-open`,{detail:t}))}};D([C({attribute:!1})],_n.prototype,`totals`,void 0),D([C({attribute:!1})],_n.prototype,`selected`,void 0),D([T(`canvas`)],_n.prototype,`canvas`,void 0),_n=D([S(`mooring-strip`)],_n);function vn(e,t,n){e.style.color=`var(${n})`;let[r=0,i=0,a=0]=(t.color.match(/[\d.]+/g)??[]).map(Number);return e.style.color=``,[r,i,a]}var yn=10,bn=class extends x{constructor(...e){super(...e),this.plugins=[],this.weights=[]}static{this.styles=[E,o`
      .sliders {
        display: grid;
        grid-template-columns: minmax(5rem, max-content) minmax(5rem, 1fr) minmax(3rem, auto);
        gap: var(--s1) var(--s3);
        align-items: center;
        max-height: 21rem;
        overflow-y: auto;
      }
      label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      input {
        width: 100%;
        padding: 0;
        min-height: 1.5rem;
        accent-color: var(--accent);
        background: none;
        border: 0;
      }
      output {
        text-align: end;
        white-space: nowrap;
      }
    `]}render(){return g`<div class="sliders" tabindex="0" role="group" aria-label="Weights of plugins">
      ${this.plugins.map(({name:e,weight:t},n)=>{let r=this.weights[n],i=r===t?v:g`<span class="quiet">${t} → </span>`;return g`<label for="weight-${n}" title=${e}>${e}</label>
          <input
            id="weight-${n}"
            type="range"
            min="0"
            max=${Math.max(yn,2*t)}
            .valueAsNumber=${r}
            @input=${e=>this.change(n,e.target.valueAsNumber)}
          />
          <output for="weight-${n}">${i}${r===0?`off`:`× ${r}`}</output>`})}
    </div>`}change(e,t){let n=this.weights.map((n,r)=>r===e?t:n);this.dispatchEvent(new CustomEvent(`mooring-weights`,{detail:n}))}};D([C({attribute:!1})],bn.prototype,`plugins`,void 0),D([C({attribute:!1})],bn.prototype,`weights`,void 0),bn=D([S(`mooring-weights`)],bn);var xn=[`raw`,`normalized`,`weighted`],I=class extends x{constructor(...e){super(...e),this.src=``,this.problem=``,this.weights=[],this.points=`weighted`,this.sorting={column:`total`,descending:!0},this.filter=``,this.filterProblem=``,this.pins=[],this.stages=[],this.shownColumns=[],this.rows=[]}static{this.styles=[et,E,o`
      :host {
        background: none;
      }
      .sentence {
        font-size: 1.0625rem;
        line-height: 1.5;
        overflow-wrap: anywhere;
      }
      input[type="search"] {
        min-width: 14rem;
        flex: 1 1 14rem;
        max-width: 26rem;
      }
      mooring-grid {
        --grid-height: min(65vh, 40rem);
      }
      .legend {
        font-size: 0.8125rem;
      }
      .needs li {
        list-style: none;
        padding: var(--s2) 0;
        border-top: 1px solid var(--line);
      }
      .needs p {
        overflow-wrap: anywhere;
      }
    `]}willUpdate(e){if(e.has(`src`)&&this.src&&this.fetch(),e.has(`columns`)&&this.columns&&this.decode(this.columns),!this.matrix)return;let t=e;(t.has(`matrix`)||t.has(`weights`))&&(this.ranking=Ut(this.matrix,this.weights)),t.has(`matrix`)&&([this.stages,this.shownColumns]=[jt(this.matrix),this.gridColumns(this.matrix)]),this.rows=Xt(this.matrix,this.ranking,this.sorting,this.points,this.labelled??this.filter)}render(){if(this.problem)return g`<p class="failure" role="alert">${this.problem}</p>`;let{matrix:e}=this;return e?g`<div class="stack">
      <div class="stack tight">
        <p class="sentence">${this.verdict(e)}</p>
        ${e.differences.length?g`<p class="warn">⚠ Made again, it differs from what was decided: ${e.differences.join(`; `)}</p>`:v}
        ${e.warnings.map(e=>g`<p class="warn">⚠ ${e}</p>`)}
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="funnel">
          <h2 id="funnel">Which nodes are feasible</h2>
          <mooring-funnel
            .stages=${this.stages}
            .total=${e.nodes.length}
            @mooring-filter=${e=>void this.narrow(e.detail)}
          ></mooring-funnel>
        </section>
        ${e.plugins.length?this.weighing(e):v} ${e.scored.length?v:this.details(e)}
      </div>
      <section class="stack tight" aria-labelledby="nodes">
        ${this.toolbar(e)}
        ${e.scored.length?this.overview(e):v}
        <mooring-grid
          label="Nodes and what each plugin says"
          .columns=${this.shownColumns}
          .rows=${this.rows}
          .keyOf=${e=>e}
          .restOf=${t=>this.rejection(e,t)}
          .marksOf=${t=>this.marks(e,t)}
          .sorting=${this.sorting}
          empty="No node matches the filter."
          @mooring-sort=${e=>this.sort(e.detail)}
          @mooring-open=${e=>this.node=e.detail}
          @mooring-pick=${e=>this.pin(e.detail)}
        ></mooring-grid>
        <p class="quiet legend">
          ${O(this.rows.length)} of ${k(e.nodes.length,`node`)} · arrow keys move, Enter shows a node, Space pins it; two
          pinned nodes are compared${e.suffix?g` · names end in <span class="mono">${e.suffix}</span>`:v}
        </p>
      </section>
      ${e.scored.length?g`<div class="columns">${this.details(e)}</div>`:v}
    </div>`:g`<p class="quiet" role="status">Loading …</p>`}async fetch(){try{let e=await fetch(this.src);if(!e.ok)throw Error(`${this.src}: HTTP ${e.status}`);this.columns=await e.arrayBuffer()}catch(e){this.problem=e.message}}decode(e){try{this.matrix=Ot(e),this.weights=Wt(this.matrix),[this.problem,this.pins,this.filter,this.labelled,this.filterProblem]=[``,[],``,void 0,``],this.node=this.nearest=this.matrix.feasible?void 0:yt(this.matrix)}catch(e){this.problem=e.message}}verdict(e){let{namespace:t=``,name:n=``}=e.pod;return g`${this.ranking.selected===void 0?g`<span class="bad">✕</span>`:g`<span class="good">✓</span>`} <strong>${t}/${n}</strong> ${en(e,this.ranking,this.weights)}`}weighing(e){let t=this.weights.some((t,n)=>t!==e.plugins[n].weight),{selected:n}=this.ranking,r=n===e.selected?`still selects`:`would select`;return g`<section class="card stack tight" aria-labelledby="weights">
      <div class="row between">
        <h2 id="weights">What if the weights were others?</h2>
        <button ?disabled=${!t} @click=${()=>this.weights=Wt(e)}>Reset</button>
      </div>
      <mooring-weights
        .plugins=${e.plugins}
        .weights=${this.weights}
        @mooring-weights=${e=>this.weights=e.detail}
      ></mooring-weights>
      <div class="row between">
        <p role="status">
          ${t&&n!==void 0?g`<strong>${r} ${M(e,n)}</strong>`:g`<span class="quiet">The weights in force</span>`}
        </p>
        ${t?g`<mooring-copy .copies=${[{name:`YAML`,text:an(e,this.weights)}]}></mooring-copy>`:v}
      </div>
    </section>`}toolbar(e){let t=this.nodesWith?`name, reason or labels`:`name or reason`;return g`<div class="row between">
        <h2 id="nodes">${e.plugins.length?`Nodes × plugins`:`Nodes`}</h2>
        <input
          type="search"
          aria-label="Filter nodes by ${t}"
          placeholder="Filter by ${t}"
          .value=${this.filter}
          @input=${e=>void this.narrow(e.target.value)}
        />
        ${e.scored.length?this.pointsChoice():v}
      </div>
      ${this.filterProblem?g`<p class="warn" role="status">⚠ ${this.filterProblem}</p>`:v}`}async narrow(e){if([this.filter,this.filterProblem]=[e,``],!this.nodesWith||!Yt(e))this.labelled=void 0;else try{let t=await this.nodesWith(e);this.filter===e&&(this.labelled=new Set(t))}catch(t){this.filter===e&&(this.filterProblem=t.message)}}overview(e){let t=e.plugins.flatMap((e,t)=>dt(e)&&e.raw.length?[`${e.name} ${O(this.pointsOf(e,t,0))}`]:[]);return g`${t.length?g`<p class="quiet legend">Equal on all scored nodes: ${t.join(`, `)}</p>`:v}
      <mooring-strip
        .totals=${this.ranking.totals}
        @mooring-open=${e=>this.reveal(e.detail)}
      ></mooring-strip>`}pointsOf({raw:e,normalized:t},n,r){return this.points===`raw`?e[r]:t[r]*(this.points===`weighted`?this.weights[n]:1)}pointsChoice(){return g`<span class="segments" role="group" aria-label="Which scores">
      ${xn.map(e=>g`<button aria-pressed=${this.points===e} @click=${()=>this.points=e}>
            ${e[0].toUpperCase()+e.slice(1)}
          </button>`)}
    </span>`}gridColumns(e){let t=e.plugins.flatMap((t,n)=>dt(t)?[]:[{id:`plugin-${n}`,title:t.name,width:`9rem`,numeric:!0,sortable:!0,cell:t=>this.score(e,t,n)}]),n={id:`node`,title:`Node`,width:`min(14rem, 40vw)`,sortable:!0,cell:t=>this.name(e,t)},r={id:`verdict`,title:`Verdict`,width:e.scored.length?`7.5rem`:`minmax(16rem, 1fr)`,sortable:!0,cell:e=>this.verdictOf(e)};return e.scored.length?[n,{id:`total`,title:`Total`,width:`5.5rem`,numeric:!0,sortable:!0,cell:e=>this.total(e)},r,...t]:[n,r]}name(e,t){return g`${this.pins.includes(t)?g`<span class="good" title="pinned">● </span>`:v}<span title=${e.nodes[t]}>${M(e,t)}</span>`}total(e){let t=this.ranking.totals[e];return Number.isNaN(t)?``:O(t)}score(e,t,n){let r=pt(e,t);if(r<0)return v;let i=e.plugins[n],a=this.pointsOf(i,n,r);return g`<span class="heat" .style=${`--share: ${i.normalized[r]}%`}>${O(a)}</span>`}rejection(e,t){let n=e.verdicts[t];if(!n)return;let{plugin:r,reasons:i}=e.distinct[n],a=`${r?`${r}: `:``}${(i??[]).join(`, `)}`;return g`<span class="bad" title=${a}>✕ ${a}</span>`}verdictOf(e){return e===this.ranking.selected?g`<span class="good">✓ selected</span>`:this.ranking.ties.includes(e)?g`✓ tied`:g`<span class="quiet">✓ feasible</span>`}marks(e,t){let n=[];return t===this.ranking.selected&&n.push(`selected`),this.pins.includes(t)&&n.push(`picked`),e.verdicts[t]&&n.push(`rejected`),n.join(` `)}details(e){let[t,n]=this.pins,r=t!==void 0&&n!==void 0;return g`${this.node===void 0?v:this.detail(e,this.node)}
    ${r?this.comparison(e,t,n):v}`}detail(e,t){let n=this.pins.includes(t),r=vt(e,t);return g`<section class="card stack tight" aria-labelledby="node">
      <div class="row between">
        <h2 id="node">${t===this.nearest?`The closest: `:v}${e.nodes[t]}</h2>
        <button aria-pressed=${n} @click=${()=>this.pin(t)}>${n?`Pinned`:`Pin to compare`}</button>
      </div>
      ${r.length?this.needs(r):this.place(e,t)} ${this.left(e,t)}
    </section>`}needs(e){return g`<p><span class="bad">✕ Rejected</span>. What it would take:</p>
      <ul class="needs">
        ${e.map(({plugin:e,reason:t,figures:n,step:r})=>g`<li>
              <p><strong>${e||`mooring`}</strong>: ${t}</p>
              ${n?g`<p>${n}</p>`:v}
              <p class="quiet">${r}</p>
            </li>`)}
      </ul>`}place(e,t){let{selected:n,totals:r,order:i}=this.ranking;if(t===n)return g`<p class="good">✓ Selected.</p>`;if(pt(e,t)<0||n===void 0)return g`<p>✓ Feasible; it was not scored.</p>`;let a=r[n]-r[t],o=i.indexOf(t)+1,s=g`<button @click=${()=>this.pins=[n,t]}>Compare with ${M(e,n)}</button>`;return g`<p>✓ Feasible: place ${O(o)}, ${a?`${O(a)} behind ${M(e,n)}`:`tied`}.</p>
      <p>${s}</p>`}left(e,t){return g`<dl class="facts">
      ${e.resources.map(({name:e,requested:n,free:r})=>g`<div>
            <dt>${e}</dt>
            <dd class=${r[t]<n?`bad`:``}>
              requests ${A(e,n)}, ${A(e,Math.max(0,r[t]))} left
            </dd>
          </div>`)}
    </dl>`}comparison(e,t,n){let r=kt(e,this.weights,t,n),i=[M(e,t),M(e,n)];return g`<section class="card stack tight" aria-labelledby="comparison">
      <div class="row between">
        <h2 id="comparison">Two nodes compared</h2>
        <button @click=${()=>this.pins=[]}>Unpin both</button>
      </div>
      ${r.length?g`<mooring-comparison .first=${i[0]} .second=${i[1]} .differences=${r}></mooring-comparison>`:[t,n].map(t=>g`<p><strong>${e.nodes[t]}</strong> ${this.rejection(e,t)??this.verdictOf(t)}</p>`)}
    </section>`}pin(e){this.pins=this.pins.includes(e)?this.pins.filter(t=>t!==e):[...this.pins,e].slice(-2)}reveal(e){this.node=e,this.grid?.reveal(this.rows.indexOf(e))}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e!==`node`&&e!==`verdict`;this.sorting={column:e,descending:t}}};D([C({attribute:!1})],I.prototype,`columns`,void 0),D([C()],I.prototype,`src`,void 0),D([C({attribute:!1})],I.prototype,`nodesWith`,void 0),D([w()],I.prototype,`matrix`,void 0),D([w()],I.prototype,`problem`,void 0),D([w()],I.prototype,`weights`,void 0),D([w()],I.prototype,`points`,void 0),D([w()],I.prototype,`sorting`,void 0),D([w()],I.prototype,`filter`,void 0),D([w()],I.prototype,`labelled`,void 0),D([w()],I.prototype,`filterProblem`,void 0),D([w()],I.prototype,`pins`,void 0),D([w()],I.prototype,`node`,void 0),D([T(`mooring-grid`)],I.prototype,`grid`,void 0),I=D([S(`mooring-decision`)],I);function L(e){let[t=``,n=``]=e.replace(/^#\/?/,``).split(/\?(.*)/s);return{path:t.split(`/`).filter(Boolean).map(Sn),query:new URLSearchParams(n)}}function R(e,t={}){let n=L(location.hash).query.get(`process`)??void 0,r=new URLSearchParams;for(let[e,i]of Object.entries({process:n,...t}))i&&r.set(e,i);let i=r.toString();return`#/${e.map(e=>encodeURIComponent(e)).join(`/`)}${i&&`?${i}`}`}function z(e){let{path:t,query:n}=L(location.hash),r=R(t,{...Object.fromEntries(n),...e});history.replaceState(null,``,r),dispatchEvent(new HashChangeEvent(`hashchange`))}function Sn(e){try{return decodeURIComponent(e)}catch{return e}}function B(e,t){return(e??``).replace(t,``).replaceAll(`_`,` `).toLowerCase()}function Cn(e){return B(e,`EXTENSION_POINT_`).replace(/(?:^| )(\w)/g,(e,t)=>t.toUpperCase())}function V(e){return`${e?.namespace??``}/${e?.name??``}`}function wn(e){return e?.reason?`${e.plugin?`${e.plugin}: `:``}${e.reason}`:``}function Tn(e){if(e.result===`DECISION_RESULT_SCHEDULED`)return{mark:`✓`,text:e.node||`feasible`,tone:`good`};let t=wn(e.dominant)||e.verdict?.message||(e.verdict?.reasons??[]).join(`, `);return e.result===`DECISION_RESULT_UNSCHEDULABLE`?{mark:`✕`,text:t,tone:`bad`}:{mark:`⚠`,text:t||B(e.result,`DECISION_RESULT_`),tone:`warn`}}function H(e){return/^[\w./:=@%+,-]+$/.test(e)?e:`'${e.replaceAll(`'`,`'\\''`)}'`}var En=class extends Error{constructor(e,t,n){super(e),this.code=t,this.reason=n}};async function U(e,t,n){return await(await Vn(Ln(e),Bn(t),n)).json()}async function Dn(e,t,n){return(await Vn(`decisions/${encodeURIComponent(e)}/columns${t?`?again=1`:``}`,{},n)).arrayBuffer()}async function On(e,t){return(await Vn(`explain/columns`,Bn(e),t)).arrayBuffer()}async function kn(e){return An=(await(await Vn(`processes`,{},e)).json()).processes,An}var An=[],jn=`server:127.0.0.1:50051`;function Mn(){let e=L(location.hash).query.get(`process`);return An.find(t=>t.name===e)??An[0]}function Nn(){let{source:e=jn}=Mn()??{};return e===jn?[]:[`--cluster`,H(e)]}function Pn(){let{address:e=``}=Mn()??{};return e.startsWith(`unix:`)?`-unix ${H(e.slice(5))}`:e}var Fn=new Map;async function In(e){let t=Mn()?.source??``,n=Fn.get(t)??U(`PluginService/GetCapabilities`,{}).then(({rpcs:e=[]})=>e);Fn.set(t,n);try{return(await n).includes(Ln(e))}catch(e){throw Fn.delete(t),e}}function Ln(e){return`mooring.v1.${e}`}function Rn(e){let t=new URL(`api/v1/${e}`,document.baseURI),n=L(location.hash).query.get(`process`);return n&&t.searchParams.set(`process`,n),t.href}async function zn(e,t){return(await U(`ClusterService/ListNodes`,{labelSelector:e},t)).nodes?.names?.names??[]}function Bn(e){return{method:`POST`,headers:{"content-type":`application/json`},body:JSON.stringify(e)}}async function Vn(e,t,n){let r;try{r=await fetch(Rn(e),{...t,signal:n??null})}catch(e){throw n?.throwIfAborted(),new En(`mooring web does not answer: ${e.message}`,`unavailable`,``)}if(r.ok)return r;let i=await r.json().catch(()=>({})),a=i.details?.find(e=>e.type===`google.rpc.ErrorInfo`);throw new En(i.message??`HTTP ${r.status}`,i.code??``,a?.debug?.reason??``)}function W(e,t,n){let r=H(JSON.stringify(n)),i=`curl -s ${H(Rn(Ln(t)))} -H 'content-type: application/json' -d ${r}`;return[...e?[{name:`CLI`,text:()=>Hn(e)}]:[],{name:`JSON`,text:async()=>JSON.stringify(await U(t,n),void 0,2)},{name:`gRPC`,text:()=>`grpcurl -plaintext -d ${r} ${Pn()} mooring.v1.${t}`},{name:`curl`,text:i}]}function Hn(e){return[e,...Nn()].join(` `)}var G=class{constructor(e,t,n={}){this.host=e,this.load=t,this.options=n,this.loading=!1,this.answered=!1,this.begun=!1,this.abort=new AbortController,this.timer=0,this.whenVisible=()=>{!document.hidden&&this.options.every&&!this.loading&&this.run()},e.addController(this)}hostConnected(){document.addEventListener(`visibilitychange`,this.whenVisible)}hostUpdate(){let e=this.options.key?.();this.begun&&e===this.loadedKey||(this.value=this.error=void 0,this.answered=!1,[this.begun,this.loadedKey]=[!0,e],this.run())}hostDisconnected(){document.removeEventListener(`visibilitychange`,this.whenVisible),this.begun=!1,this.stop()}async run(){this.stop();let{signal:e}=this.abort=new AbortController;this.loading=!0;try{let t=await this.load(e);if(e.aborted)return;[this.value,this.error,this.answered]=[t,void 0,!0]}catch(t){if(e.aborted)return;this.error=t}this.loading=!1,this.host.requestUpdate();let{every:t}=this.options;t&&(this.timer=window.setTimeout(this.whenVisible,typeof t==`number`?t:t()))}show(e){return!this.answered&&!this.error?g`<p class="quiet" role="status">Loading …</p>`:g`${this.error?Gn(this.error,()=>void this.run()):v}${this.answered?e(this.value):v}`}stop(){this.abort.abort(),this.loading=!1,clearTimeout(this.timer)}},Un={DECISION_NOT_FOUND:`The journal is bounded: the decision is forgotten, or the process was restarted since.`,DECISION_NOT_REPEATABLE:`Explain the pod as of now instead.`,CONFIGURATION_NOT_FOUND:`Only the last configurations since the start are remembered: compare with another one.`,NOT_IMPLEMENTED:`This process does not answer that: select another one, or turn the journal on.`,POD_NOT_FOUND:`The pod is gone, or not known yet.`,SESSION_EXPIRED:`The copy of the cluster is too old: start over.`,SESSION_NOT_FOUND:`The copy of the cluster ended after ten minutes without a call: start over.`,NOT_SYNCED:`The process is still reading the cluster.`,UNAVAILABLE:`The process can't be reached: is it running, and is its address right?`,RESOURCE_EXHAUSTED:`It has too much to do: wait a moment.`},Wn=new Set([`DECISION_NOT_FOUND`,`DECISION_NOT_REPEATABLE`,`CONFIGURATION_NOT_FOUND`,`NOT_IMPLEMENTED`]);function Gn(e,t,n=`Try again`){let{code:r=``,reason:i=``}=e instanceof En?e:{};return g`<div class="failure" role="alert">
    <p><strong>${e.message}</strong></p>
    <p>${Un[i]??Un[r]??v}</p>
    ${Wn.has(i)?v:g`<button @click=${t}>${n}</button>`}
  </div>`}var Kn=(function(){let e=typeof document<`u`&&document.createElement(`link`).relList;return e&&e.supports&&e.supports(`modulepreload`)?`modulepreload`:`preload`})(),qn=function(e,t){return new URL(e,t).href},Jn={},Yn=function(e){return e.pathname.endsWith(`.css`)},Xn=function(e,t,n){if(t in e)return e[t];let r=n();if(!r){e[t]=void 0;return}let i=r.then(()=>{e[t]=void 0},n=>{throw e[t]=void 0,n});return e[t]=i,i},Zn=function(e,t,n){let r=Promise.resolve();if(t&&t.length>0){let e,i=document.querySelector(`meta[property=csp-nonce]`),a=i?.nonce||i?.getAttribute(`nonce`);function o(e){return Promise.all(e.map(e=>Promise.resolve(e).then(e=>({status:`fulfilled`,value:e}),e=>({status:`rejected`,reason:e}))))}function s(e){return import.meta.resolve?new URL(import.meta.resolve(e)):new URL(e,import.meta.url)}r=o(t.map(t=>{t=qn(t,n);let r=s(t),i=Yn(r);return Xn(Jn,r.href,()=>{if(e===void 0){e={all:new Set,styles:new Set};let t=document.getElementsByTagName(`link`);for(let n=t.length-1;n>=0;n--){let r=t[n];e.all.add(r.href),r.rel===`stylesheet`&&e.styles.add(r.href)}}if((i?e.styles:e.all).has(r.href))return;let t=document.createElement(`link`);if(t.rel=i?`stylesheet`:Kn,i||(t.as=`script`),t.crossOrigin=``,t.href=r.href,a&&t.setAttribute(`nonce`,a),document.head.appendChild(t),i)return new Promise((e,n)=>{let i=a=>{t.removeEventListener(`load`,i),t.removeEventListener(`error`,i),a.type===`error`?n(Error(`Unable to preload CSS for ${r}`)):e(a)};t.addEventListener(`load`,i),t.addEventListener(`error`,i)})})}).filter(e=>e!==void 0))}function i(e){let t=new Event(`vite:preloadError`,{cancelable:!0});if(t.payload=e,window.dispatchEvent(t),!t.defaultPrevented)throw e}return r.then(t=>{for(let e of t||[])e.status===`rejected`&&i(e.reason);return e().catch(i)})};async function Qn(e){let{load:t}=await Zn(async()=>{let{load:e}=await import(`./js-yaml.js`);return{load:e}},[],import.meta.url),n=t(e);if(typeof n!=`object`||!n)throw Error(`A manifest is expected: a Pod, or what makes pods.`);if(n.kind===`Pod`)return n;let r=n.spec?.template??(n.spec?.jobTemplate)?.spec?.template;if(!r?.spec)throw Error(`A Pod, or what makes pods, is expected, not ${n.kind??`this`}.`);let{name:i=`pod`,namespace:a=`default`}=n.metadata??{};return{apiVersion:`v1`,kind:`Pod`,metadata:{...r.metadata,name:`${i}-what-if`,namespace:a},spec:r.spec}}async function $n(e){let{loadAll:t}=await Zn(async()=>{let{loadAll:e}=await import(`./js-yaml.js`);return{loadAll:e}},[],import.meta.url),n=t(e).filter(Boolean).flatMap(e=>e.kind?.endsWith(`List`)?e.items??[]:[e]);if(!n.length)throw Error(`Manifests are expected, such as that of a Node; there is none.`);if(n.find(e=>typeof e!=`object`||!e.kind||!e.metadata?.name))throw Error(`Each manifest needs a kind and metadata.name.`);return n.map(e=>({...e,metadata:{...e.metadata,uid:e.metadata?.uid??er(e)}}))}function er({kind:e=``,metadata:t}){return`${e}/${t?.namespace??``}/${t?.name??``}`}function tr({metadata:e,spec:t}){let{podGroupName:n}=t?.schedulingGroup??{};return n?{namespace:e?.namespace??`default`,name:n}:void 0}async function nr(e){let{dump:t}=await Zn(async()=>{let{dump:e}=await import(`./js-yaml.js`);return{dump:e}},[],import.meta.url);return t(e)}function rr(e){let t=new TextEncoder().encode(JSON.stringify(e));return{json:btoa(Array.from(t,e=>String.fromCharCode(e)).join(``))}}async function K(e,t,n,r){let{object:i}=await U(`ClusterService/GetObject`,{kind:e,namespace:t,name:n},r),a=Uint8Array.from(atob(i?.json??``),e=>e.charCodeAt(0));return JSON.parse(new TextDecoder().decode(a))}var ir=class extends x{constructor(...e){super(...e),this.namespace=``,this.name=``,this.open=!1,this.text=new G(this,e=>this.read(e),{key:()=>`${this.namespace}/${this.name} ${this.open}`})}static{this.styles=[E]}render(){return g`<details class="card" @toggle=${e=>this.open=e.target.open}>
      <summary>Manifest, as far as scheduling reads it</summary>
      ${this.text.show(e=>g`<pre tabindex="0" aria-label="Manifest">${e}</pre>`)}
    </details>`}async read(e){return this.open?nr(await K(`Pod`,this.namespace,this.name,e)):``}};D([C()],ir.prototype,`namespace`,void 0),D([C()],ir.prototype,`name`,void 0),D([w()],ir.prototype,`open`,void 0),ir=D([S(`mooring-manifest`)],ir);var ar=class extends x{constructor(...e){super(...e),this.seq=``,this.again=!1,this.record=new G(this,e=>sr(this.seq,e),{key:()=>this.seq}),this.columns=new G(this,e=>Dn(this.seq,this.again,e),{key:()=>`${this.seq} ${this.again}`}),this.attempts=new G(this,e=>this.listAttempts(e),{key:()=>V(this.record.value?.pod)})}static{this.styles=[E,o`
      ol {
        list-style: none;
        display: flex;
        overflow-x: auto;
        padding: var(--s1) 0;
      }
      li {
        flex: 0 0 auto;
        border-top: 2px solid var(--edge);
        padding: var(--s2) var(--s4) 0 0;
        position: relative;
      }
      li::before {
        content: "";
        position: absolute;
        top: -6px;
        width: 10px;
        height: 10px;
        border-radius: 50%;
        background: var(--raised);
        border: 2px solid var(--edge);
      }
      li.now::before {
        background: var(--accent);
        border-color: var(--accent);
      }
      li a {
        display: block;
        max-width: 22rem;
        overflow-wrap: anywhere;
      }
    `]}willUpdate(e){e.has(`seq`)&&(this.again=!1)}render(){return g`<div class="stack">
      <div class="row between">
        <h1>Decision ${this.seq}</h1>
        <div class="row">
          <button aria-pressed=${this.again} title="Made again as of then, with every rejection of each node" @click=${()=>this.again=!this.again}>
            Make it again
          </button>
          ${this.record.value?g`<mooring-copy .copies=${this.copies(this.record.value)}></mooring-copy>`:v}
        </div>
      </div>
      ${this.record.show(e=>e?this.facts(e):v)}
      ${this.columns.show(e=>g`<mooring-decision .columns=${e} .nodesWith=${zn}></mooring-decision>`)}
      ${this.columns.error&&this.record.value?cr(this.record.value):v}
      ${this.attempts.value&&this.attempts.value.length>1?this.timeline(this.attempts.value):v}
      ${this.record.value?lr(this.record.value):v}
    </div>`}facts(e){let{pod:t,provenance:n,node:r,queueWait:i}=e;return g`<dl class="facts">
      ${[[`Pod`,g`<a href=${R([`pods`,t?.namespace??``,t?.name??``])}>${V(t)}</a>`],[`Made`,g`<time datetime=${e.time} title=${e.time}>${j(e.time)} ago</time>`],[`Kind`,B(e.kind,`DECISION_KIND_`)],[`Node`,r?g`<a href=${R([`nodes`,r])}>${r}</a>`:``],[`Attempt`,e.attempt?O(e.attempt):``],[`Waited`,i?lt(i):``],[`Took`,lt(e.duration)],[`Profile`,g`<a href=${R([`profiles`])}>${n?.profile??``}</a>`],[`Configuration`,or(n?.configurationHash??``)],[`State`,`version ${n?.stateVersion??0}`],[`Trace`,e.traceId??``]].map(([e,t])=>t?g`<div><dt>${e}</dt><dd>${t}</dd></div>`:v)}
    </dl>`}copies(e){let t=e.attempt?` --attempt ${e.attempt}`:``;return[{name:`CLI`,text:()=>Hn(`mooring explain ${H(V(e.pod))}${t}`)},{name:`JSON`,text:JSON.stringify(e,void 0,2)},{name:`curl`,text:`curl -s ${H(Rn(`decisions/${this.seq}/columns`))}`}]}timeline(e){return g`<section class="card stack tight" aria-labelledby="attempts">
      <h2 id="attempts">All decisions about this pod</h2>
      <ol>
        ${e.map((t,n)=>{let[r,i]=[t,e[n-1]].map(e=>e?.provenance?.configurationHash??``),{mark:a,text:o,tone:s}=Tn(t),c=t.seq===this.seq;return g`<li class=${c?`now`:``}>
            <a href=${R([`decisions`,t.seq])} aria-current=${c?`true`:v} title=${o}>
              <span class=${s}>${a}</span> ${o}</a
            >
            <span class="quiet">${B(t.kind,`DECISION_KIND_`)}, ${j(t.time)} ago</span>
            ${i&&i!==r?or(i,r):v}
          </li>`})}
      </ol>
    </section>`}async listAttempts(e){let t=this.record.value?.pod;return t?(await U(`DecisionService/ListDecisions`,{filter:{namespace:t.namespace??``,pod:t.name??``},limit:50},e)).decisions??[]:[]}};D([C()],ar.prototype,`seq`,void 0),D([w()],ar.prototype,`again`,void 0),ar=D([S(`mooring-decision-view`)],ar);function or(e,t=``){if(!e)return v;let n=t?`another configuration`:g`<span class="mono">${e.slice(0,8)}</span>`;return g`<a href=${R([`profiles`],{from:e,to:t})} title="What differs ${t?`between them`:`today`}">${n}</a>`}async function sr(e,t){return(await U(`DecisionService/ListDecisions`,{afterSeq:String(Number(e)-1),limit:1},t)).decisions?.find(t=>t.seq===e)}function cr({pod:e}){return g`<p><a href=${R([`pods`,e?.namespace??``,e?.name??``])}>Explain ${V(e)} as of now</a></p>`}function lr({pod:e}){return g`<mooring-manifest .namespace=${e?.namespace??``} .name=${e?.name??``}></mooring-manifest>`}var ur=500,dr=1e3,fr=`15s`,pr=500,mr=2e3,hr=[`DECISION_RESULT_SCHEDULED`,`DECISION_RESULT_UNSCHEDULABLE`,`DECISION_RESULT_ERROR`,`DECISION_RESULT_FAILED`],gr=[[`namespace`,`Namespace`],[`pod`,`Pod`],[`selector`,`Labels`],[`node`,`Node`],[`profile`,`Profile`],[`plugin`,`Rejected by`],[`margin`,`Margin at most`]],q=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.shown=[],this.waiting=[],this.paused=!1,this.missed=0,this.loaded=!1,this.abort=new AbortController,this.take=()=>{this.shown=[...this.waiting,...this.shown].slice(0,ur),this.waiting=[]},this.pause=()=>{this.paused=!this.paused,this.paused||this.take()},this.onFacet=e=>{let{name:t,value:n}=e.target;z({[t]:n.trim()})}}static{this.styles=[E,o`
      .facets {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
      }
      .facets > label {
        display: grid;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .facets input,
      .facets select {
        width: 100%;
        color: var(--text);
      }
      mooring-grid {
        --grid-height: calc(100vh - 16rem);
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.abort.abort()}willUpdate(e){e.has(`query`)&&this.query.toString()!==this.asked&&this.begin()}render(){return g`<div class="stack">
      <div class="row between">
        <h1>Decisions</h1>
        <div class="row">
          <span class="quiet" role="status">${this.progress()}</span>
          ${this.waiting.length?g`<button class="primary" @click=${this.take}>Show ${k(this.waiting.length,`new one`)}</button>`:v}
          <button aria-pressed=${this.paused} @click=${this.pause}>${this.paused?`Paused`:`Pause`}</button>
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      <form class="row facets" @submit=${e=>e.preventDefault()} @change=${this.onFacet}>
        ${gr.map(([e,t])=>g`<label>${t}<input name=${e} autocomplete="off" spellcheck="false" .value=${this.query.get(e)??``} /></label>`)}
        <label
          >Result<select name="result">
            <option value="">all</option>
            ${hr.map(e=>{let t=B(e,`DECISION_RESULT_`);return g`<option value=${t} ?selected=${this.query.get(`result`)===t}>${t}</option>`})}
          </select></label
        >
      </form>
      ${this.error?Gn(this.error,()=>this.begin()):v}
      ${yr(`Decisions, the newest first`,this.shown,this.error?`Nothing was listed.`:this.loaded?`No decision yet, or none that matches.`:`Loading …`)}
    </div>`}progress(){let e=this.missed?` · ${O(this.missed)} passed over`:``;return`${O(this.shown.length)} shown${e}`}copies(){let e=[...this.query].filter(([e,t])=>e!==`process`&&t).map(([e,t])=>`--${e} ${H(t)}`),t={filter:this.filter()};return W([`mooring decisions`,...e].join(` `),`DecisionService/ListDecisions`,t)}filter(){let e={},{query:t}=this;for(let n of[`namespace`,`pod`,`node`,`profile`])t.get(n)&&(e[n]=t.get(n));/^\d+$/.test(t.get(`margin`)??``)&&(e.maxMargin=t.get(`margin`)),t.get(`selector`)&&(e.labelSelector=t.get(`selector`)),t.get(`plugin`)&&(e.rejectingPlugin=t.get(`plugin`));let n=hr.find(e=>B(e,`DECISION_RESULT_`)===t.get(`result`));return n&&(e.results=[n]),e}begin(){this.abort.abort(),this.abort=new AbortController,this.asked=this.query.toString(),[this.shown,this.waiting,this.missed,this.error,this.loaded]=[[],[],0,void 0,!1],this.follow(this.abort.signal)}async follow(e){let t;for(;!e.aborted;){try{let n=await this.ask(t,e);if(t&&n.journalId!==t.journalId)return this.begin();t={...n,nextAfterSeq:this.goOn(n)},this.add(n.decisions??[])}catch(t){e.aborted||(this.error=t)}await vr(this.error||t?.waitRefused?mr:pr)}}ask(e,t){let n={filter:this.filter(),limit:ur};return e&&Object.assign(n,{afterSeq:e.nextAfterSeq??`0`,wait:fr}),U(`DecisionService/ListDecisions`,n,t)}goOn({nextAfterSeq:e=`0`,lastSeq:t=`0`,missedCount:n=`0`}){let r=Math.max(0,Number(t)-Number(e)-ur);return this.missed+=Number(n)+r,String(Number(e)+r)}add(e){if(this.loaded=!0,this.error=void 0,!e.length)return;let t=[...e].reverse();this.paused?this.waiting=[...t,...this.waiting].slice(0,ur):this.shown=[...t,...this.shown].slice(0,ur)}};D([C({attribute:!1})],q.prototype,`query`,void 0),D([w()],q.prototype,`shown`,void 0),D([w()],q.prototype,`waiting`,void 0),D([w()],q.prototype,`paused`,void 0),D([w()],q.prototype,`missed`,void 0),D([w()],q.prototype,`loaded`,void 0),D([w()],q.prototype,`error`,void 0),q=D([S(`mooring-decisions`)],q);async function _r(e){try{return(await U(`DecisionService/ListDecisions`,{limit:dr},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}function vr(e){return new Promise(t=>setTimeout(t,e))}function yr(e,t,n=`None is remembered.`){return g`<mooring-grid
    label=${e}
    .columns=${br}
    .rows=${t}
    .keyOf=${e=>e.seq}
    empty=${n}
    @mooring-open=${e=>location.hash=R([`decisions`,e.detail.seq])}
  ></mooring-grid>`}var br=[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e,seq:t})=>g`<a tabindex="-1" href=${R([`decisions`,t])} title=${V(e)}>${V(e)}</a>`},{id:`outcome`,title:`Outcome`,width:`minmax(14rem, 1fr)`,cell:e=>{let{mark:t,text:n,tone:r}=Tn(e);return g`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`time`,title:`Time`,width:`6rem`,cell:({time:e})=>g`<time datetime=${e} title=${`${j(e)} ago`}>${xr(e)}</time>`},{id:`kind`,title:`Kind`,width:`5.5rem`,cell:({kind:e})=>B(e,`DECISION_KIND_`)},{id:`margin`,title:`Margin`,width:`5rem`,numeric:!0,cell:({node:e,tieCount:t=0,runnerUpNode:n,total:r=`0`,runnerUpTotal:i=`0`})=>e&&t>1?g`<span title="${k(t,`node`)} had the highest total">tied</span>`:n?O(Number(r)-Number(i)):``},{id:`feasible`,title:`Feasible`,width:`7.5rem`,numeric:!0,cell:({feasibleCount:e=0,evaluatedCount:t=0})=>t?`${O(e)} of ${O(t)}`:O(e)},{id:`attempt`,title:`Attempt`,width:`5rem`,numeric:!0,cell:({attempt:e})=>e?O(e):``},{id:`duration`,title:`Took`,width:`6rem`,numeric:!0,cell:e=>lt(e.duration)},{id:`profile`,title:`Profile`,width:`8rem`,cell:({provenance:e})=>e?.profile??``}];function xr(e){return e?new Date(e).toLocaleTimeString(`en-GB`):``}var Sr=200,Cr=class{constructor(e,t){this.request=e,this.signal=t,this.rows=[],this.unplaced=0,this.token=``,this.asked=new Set}async read(e,t){let n=!1;for(let r=Math.floor(e/Sr);r*Sr<Math.max(t,1);r++)n=await this.page(r)||n;return n}async page(e){if(this.asked.has(e))return!1;this.asked.add(e);try{return this.take(e,await this.ask(e)),!0}catch(t){throw this.asked.delete(e),t}}async ask(e){let t={...this.request,pageSize:Sr,skip:e*Sr};try{return await U(`ClusterService/ListPods`,{...t,pageToken:this.token},this.signal)}catch(e){if(!(e instanceof En&&e.reason===`PAGE_TOKEN_STALE`))throw e;return this.token=``,U(`ClusterService/ListPods`,t,this.signal)}}take(e,{pods:t=[],podCount:n=0,unplacedCount:r=0,nextPageToken:i=``}){this.token||=i,this.unplaced=r;let a=this.rows.slice();a.length=n,t.forEach((t,n)=>a[e*Sr+n]=t),this.rows=a}},wr=1e4,J=class extends x{constructor(...e){super(...e),this.request={},this.label=`Pods`,this.empty=`No pod matches.`,this.decisions=new Map,this.range=[0,1],this.pods=new G(this,e=>this.read(e),{key:()=>JSON.stringify(this.request),every:wr}),this.columns=this.columnsOf()}static{this.styles=[E,o`
      mooring-grid {
        --grid-height: var(--list-height, calc(100vh - 15rem));
      }
    `]}render(){return g`<div class="stack tight">
      ${this.pods.show(e=>g`<p class="quiet">${k(e.rows.length,`pod`)}${e.unplaced?g`, ${O(e.unplaced)} without a node`:v}</p>
            <mooring-grid
              label=${this.label}
              .columns=${this.columns}
              .rows=${e.rows}
              .keyOf=${e=>V(e.pod)}
              empty=${this.empty}
              @mooring-range=${t=>void this.inSight(e,t.detail)}
              @mooring-open=${e=>location.hash=Y(e.detail.pod)}
            ></mooring-grid>`)}
    </div>`}async read(e){let t=new Cr(this.request,e),[n]=await Promise.all([_r(e),t.read(...this.range)]);return this.decisions=new Map(n.map(e=>[V(e.pod),e])),t}async inSight(e,t){this.range=t,await e.read(...t).catch(()=>!1)&&this.requestUpdate()}columnsOf(){let e=({pod:e})=>this.decisions.get(V(e));return[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e})=>g`<a tabindex="-1" href=${Y(e)} title=${V(e)}>${V(e)}</a>`},{id:`node`,title:`Node`,width:`8rem`,cell:Tr},{id:`outcome`,title:`Last decision`,width:`minmax(14rem, 1fr)`,cell:t=>{let n=e(t);if(!n)return g`<span class="quiet">none remembered</span>`;let{mark:r,text:i,tone:a}=Tn(n);return g`<span class=${a} title=${i}>${r} ${i}</span> <span class="quiet">${j(n.time)} ago</span>`}},{id:`cpu`,title:`CPU`,width:`4.5rem`,numeric:!0,cell:e=>Er(e,`cpu`)},{id:`memory`,title:`Memory`,width:`5.5rem`,numeric:!0,cell:e=>Er(e,`memory`)},{id:`age`,title:`Age`,width:`5rem`,numeric:!0,cell:({creationTime:e})=>j(e)},{id:`priority`,title:`Priority`,width:`5rem`,numeric:!0,cell:({priority:e=0})=>O(e)},{id:`owner`,title:`Owner`,width:`9rem`,cell:({pod:e,controllerKind:t,controllerName:n})=>Dr(e,t,n)}]}};D([C({attribute:!1})],J.prototype,`request`,void 0),D([C()],J.prototype,`label`,void 0),D([C()],J.prototype,`empty`,void 0),D([w()],J.prototype,`decisions`,void 0),J=D([S(`mooring-pod-list`)],J);function Tr({node:e,assumed:t}){return e?g`${t?g`<span class="quiet" title="Placed by a decision that its source has not confirmed yet">… </span>`:v}<a tabindex="-1" href=${R([`nodes`,e])} title=${e}>${e}</a>`:g`<span class="warn">… pending</span>`}function Er({requests:e={}},t){return e[t]?A(t,Number(e[t])):``}function Y(e){return R([`pods`,e?.namespace??``,e?.name??``])}function Dr(e,t,n){return t?g`<a tabindex="-1" href=${Or(e?.namespace,t,n)} title="${t} ${n??``}">${t} ${n}</a>`:v}function Or(e,t,n){return R([`owners`,e??``,t,n??``])}var kr=12,Ar=class extends x{constructor(...e){super(...e),this.name=``,this.facts=new G(this,e=>Nr(this.name,e),{key:()=>this.name}),this.verdicts=new G(this,e=>Pr(this.name,e),{key:()=>this.name}),this.selections=new G(this,e=>this.listSelections(e),{key:()=>this.name,every:1e4})}static{this.styles=[E,o`
      .usage {
        display: grid;
        grid-template-columns: minmax(4rem, max-content) minmax(5rem, 1fr) max-content;
        gap: var(--s1) var(--s3);
        align-items: center;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--accent) var(--share), var(--sunken) var(--share));
      }
      .labels {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: var(--s1);
      }
      .labels li {
        background: var(--sunken);
        border-radius: var(--radius);
        padding: 0 var(--s2);
        overflow-wrap: anywhere;
      }
      mooring-pod-list {
        --list-height: 40vh;
      }
      .verdicts {
        list-style: none;
      }
      .verdicts > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
      }
      .verdicts p {
        overflow-wrap: anywhere;
      }
    `]}render(){return g`<div class="stack">
      <div class="row between">
        <h1>${this.name}</h1>
        <div class="row">
          <a href=${R([`what-if`],{node:this.name})}>What if it goes?</a>
          <mooring-copy
            .copies=${[...W(`mooring decisions --node ${H(this.name)}`,`DecisionService/ListDecisions`,{filter:{node:this.name}}),{name:`kubectl`,text:`kubectl describe node ${H(this.name)}`}]}
          ></mooring-copy>
        </div>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="room">
          <h2 id="room">What its pods request</h2>
          ${this.facts.show(e=>jr(e))}
        </section>
        <section class="card stack tight" aria-labelledby="why">
          <h2 id="why">${this.selections.value?.length?`What of the pods that wait?`:`Why does nothing land here?`}</h2>
          ${this.verdicts.show(e=>Mr(e))}
        </section>
      </div>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${{node:this.name}} label="Pods on this node" empty="No pod is on it."></mooring-pod-list>
      </section>
      <section class="stack tight" aria-labelledby="selections">
        <h2 id="selections">Decisions that selected it</h2>
        ${this.selections.show(e=>yr(`Decisions that selected this node, the newest first`,e))}
      </section>
    </div>`}async listSelections(e){return((await U(`DecisionService/ListDecisions`,{filter:{node:this.name},limit:200},e)).decisions??[]).reverse()}};D([C()],Ar.prototype,`name`,void 0),Ar=D([S(`mooring-node`)],Ar);function jr({node:e,usages:t}){let n=e.spec?.taints??[];return g`${e.spec?.unschedulable?g`<p class="warn">⚠ Cordoned: it takes no new pods.</p>`:v}
    ${n.map(({key:e,value:t,effect:n})=>g`<p class="warn">⚠ Taint <span class="mono">${e}${t?`=${t}`:``}:${n}</span></p>`)}
    <div class="usage">
      ${t.map(({resource:e,used:t,all:n})=>g`<span>${e}</span>
            <span class="track" aria-hidden="true" .style=${`--share: ${n?100*t/n:0}%`}></span>
            <span>${A(e,t)} of ${A(e,n)}</span>`)}
    </div>
    <ul class="labels mono" aria-label="Labels">
      ${Object.entries(e.metadata?.labels??{}).map(([e,t])=>g`<li>${e}=${t}</li>`)}
    </ul>`}function Mr(e){return e.length?g`<ul class="verdicts">
    ${e.map(({pod:e,count:t,rejections:n})=>g`<li class="stack tight">
          <p>
            <a href=${Y(e)}>${V(e)}</a>${t>1?g` <span class="quiet">and ${O(t-1)} more</span>`:v}
            ${n.length?v:g`<span class="good">✓ would be taken</span>`}
          </p>
          ${n.map(({plugin:e,reasons:t=[]})=>g`<p><span class="bad">✕</span> <strong>${e}</strong>: ${t.join(`, `)}</p>
                <p class="quiet">${_t(e,t[0])}</p>`)}
        </li>`)}
  </ul>`:g`<p class="empty">✓ No pod waits for a node.</p>`}async function Nr(e,t){let n=await K(`Node`,``,e,t),r=n.status?.allocatable??{},i=Object.fromEntries(Object.keys(r).filter(e=>e!==`pods`).map(e=>[e,e===`cpu`?`1m`:`1`])),{resources:a=[]}=await Ir(e,{object:rr({apiVersion:`v1`,kind:`Pod`,metadata:{name:`probe`,namespace:`default`},spec:{containers:[{name:`probe`,resources:{requests:i,limits:i}}]}})},t);return{node:n,usages:a.map(({name:e=``,free:t=[]})=>{let n=ot(e,r[e]??`0`);return{resource:e,all:n,used:n-Number(t[0]??0)}})}}async function Pr(e,t){let{groups:n=[]}=await U(`DecisionService/SummarizeReasons`,{limit:kr,askNow:!0},t),r=n.flatMap(e=>e.examples?.[0]?[[e,e.examples[0]]]:[]);return Promise.all(r.map(async([{podCount:n=1},r])=>({pod:r,count:n,rejections:Fr(await Ir(e,{reference:r},t))})))}function Fr({verdicts:e,rejections:t}){let n=t?.verdicts??e?.nodeVerdicts??[];return[...new Set(n)].filter(Boolean).map(t=>e.distinct[t])}function Ir(e,t,n){return U(`SchedulingService/Explain`,{pod:t,nodes:{names:{names:[e]}},allRejections:!0},n)}function Lr({nodes:e,usage:t}){let{resources:n=[],zones:r=[],zonePositions:i=[],taints:a=[],taintPositions:o=[],cordonedPositions:s=[]}=t??{},c=n.map(({allocatable:e=[],requested:t=[]})=>[e.map(Number),t.map(Number)]),l=new Set(s),u=(e?.names?.names??[]).map((e,t)=>({name:e,zone:r[i[t]??0]??``,taints:a[o[t]??0]??``,cordoned:l.has(t),offers:c.map(([e])=>e[t]??0),takes:c.map(([,e])=>e[t]??0)}));return{resources:n.map(({name:e=``})=>e),rows:u}}function Rr(e){return[...[`cpu`,`memory`,`pods`].filter(t=>e.includes(t)),...e.filter(e=>e.includes(`/`)).slice(0,3)]}var zr=/^([a-z][\w./-]*)>=?(\d[\w.]*)$/;function Br(e){let t={words:[],room:[]};for(let n of e.trim().split(/\s+/).filter(Boolean)){let[,e=``,r=``]=zr.exec(n)??[],i=e?ot(e,r):NaN;Number.isNaN(i)?t.words.push(n.toLowerCase()):t.room.push({resource:e,least:i})}return t}function Vr(e){return e.split(/\s+/).some(e=>zr.test(e))}function Hr({resources:e,rows:t},{words:n,room:r}){let i=r.map(({resource:t,least:n})=>({least:n,at:e.findIndex(e=>e===t||e.endsWith(`/${t}`))}));return t.filter(e=>{if(!i.every(({at:t,least:n})=>t>=0&&e.offers[t]-e.takes[t]>=n))return!1;if(!n.length)return!0;let t=`${e.name} ${e.zone} ${e.taints} ${e.cordoned?`cordoned`:``}`.toLowerCase();return n.every(e=>t.includes(e))})}function Ur(e,t){let n=e.offers[t]??0;return n?e.takes[t]/n:-1}var Wr=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.sorting={column:`name`,descending:!1},this.shown=[],this.nodes=new G(this,e=>Zr(this.selector(),e),{every:1e4,key:()=>this.selector()})}static{this.styles=[E,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: min(24rem, calc(100vw - 2 * var(--s4)));
      }
    `]}willUpdate(){let{value:e}=this.nodes;if(!e)return;let t=this.selector()?``:this.given();this.shown=Hr(e.nodes,Br(t)).sort(this.compare(e))}render(){return g`<div class="stack tight">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name, zone, taint, room or labels"
            placeholder="Filter: words, cpu>2, zone=a"
            title="Words in the name, zone or taints; room, such as cpu>2 memory>4Gi; labels, such as disk=ssd"
            .value=${this.given()}
            @input=${e=>z({name:e.target.value})}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(({nodes:e,suffix:t,columns:n})=>g`<p class="quiet">
              ${this.shown.length===e.rows.length?v:`${O(this.shown.length)} of `}${k(e.rows.length,`node`)}; bars show
              what pods request${t?g` · names end in <span class="mono">${t}</span>`:v}
            </p>
            <mooring-grid
              label="Nodes"
              .columns=${n}
              .rows=${this.shown}
              .keyOf=${e=>e.name}
              .sorting=${this.sorting}
              empty="No node matches."
              @mooring-sort=${e=>this.sort(e.detail)}
              @mooring-open=${e=>location.hash=R([`nodes`,e.detail.name])}
            ></mooring-grid>`)}
    </div>`}copies(){let e=this.selector(),t=`kubectl get nodes${e?` -l ${H(e)}`:``}`;return[...W(``,`ClusterService/ListNodes`,{includeUsage:!0,...e?{labelSelector:e}:{}}),{name:`kubectl`,text:t}]}given(){return this.query.get(`name`)??``}selector(){let e=this.given();return Yt(e)&&!Vr(e)?e:``}sort(e){let t=[`name`,`zone`,`taints`].includes(e),n=this.sorting.column===e?!this.sorting.descending:!t;this.sorting={column:e,descending:n}}compare({nodes:e,selected:t}){let{column:n,descending:r}=this.sorting,i=Kr(n,e.resources,t);return(e,t)=>(r?-1:1)*i(e,t)||Gr.compare(e.name,t.name)}};D([C({attribute:!1})],Wr.prototype,`query`,void 0),D([w()],Wr.prototype,`sorting`,void 0),Wr=D([S(`mooring-nodes`)],Wr);var Gr=new Intl.Collator(`en`,{numeric:!0});function Kr(e,t,n){if(e===`name`)return(e,t)=>Gr.compare(e.name,t.name);if(e===`zone`)return(e,t)=>Gr.compare(e.zone,t.zone);if(e===`taints`)return(e,t)=>Number(t.cordoned)-Number(e.cordoned)||Gr.compare(t.taints,e.taints);if(e===`selected`)return(e,t)=>(n.get(e.name)?.count??0)-(n.get(t.name)?.count??0);let r=t.indexOf(e);return(e,t)=>Ur(e,r)-Ur(t,r)}function qr({resources:e,rows:t},n,r){return[{id:`name`,title:`Node`,width:`min(13rem, 45vw)`,sortable:!0,cell:({name:e})=>g`<a tabindex="-1" href=${R([`nodes`,e])} title=${e}>${e.slice(0,e.length-n.length)}</a>`},...t.some(({zone:e})=>e)?[{id:`zone`,title:`Zone`,width:`7rem`,sortable:!0,cell:({zone:e})=>g`<span title=${e}>${e}</span>`}]:[],...Rr(e).map(t=>Jr(t,e.indexOf(t))),{id:`taints`,title:`Keeps pods away`,width:`minmax(11rem, 1fr)`,sortable:!0,cell:Yr},{id:`selected`,title:`Selected`,width:`6rem`,numeric:!0,sortable:!0,cell:({name:e})=>O(r.get(e)?.count??0)},{id:`last`,title:`Last selected for`,width:`minmax(11rem, 1fr)`,cell:({name:e})=>Xr(r.get(e))}]}function Jr(e,t){return{id:e,title:{cpu:`CPU`,memory:`Memory`,pods:`Pods`}[e]??e,width:`10.5rem`,sortable:!0,cell:n=>{let[r,i]=[n.offers[t],n.takes[t]];if(!r)return g`<span class="quiet">none</span>`;let[a,o]=[A(e,i),A(e,r)],s=i>=r?`; --bar: var(--bad)`:``;return g`<span class="bar" title="${a} of ${o} requested, ${A(e,Math.max(0,r-i))} left"
        ><i .style=${`--share: ${Math.min(100,100*i/r)}%${s}`}></i><span>${a} / ${o}</span></span
      >`}}}function Yr({cordoned:e,taints:t}){return!e&&!t?v:g`${e?g`<span class="warn">⚠ cordoned</span> `:v}<span class="mono" title=${t}>${t}</span>`}function Xr(e){if(!e)return g`<span class="quiet">–</span>`;let{last:t}=e;return g`<a tabindex="-1" href=${R([`decisions`,t.seq])} title=${V(t.pod)}>${V(t.pod)}</a>
    <span class="quiet">${j(t.time)} ago</span>`}async function Zr(e,t){let n={includeUsage:!0,...e?{labelSelector:e}:{}},[r,i]=await Promise.all([U(`ClusterService/ListNodes`,n,t),_r(t)]),a=Lr(r),o=Et(a.rows.map(({name:e})=>e)),s=new Map;for(let e of i)e.node&&s.set(e.node,{last:e,count:(s.get(e.node)?.count??0)+1});return{nodes:a,suffix:o,selected:s,columns:qr(a,o,s)}}var Qr=o`
  .groups {
    list-style: none;
    display: grid;
    gap: var(--s3);
  }
  .groups p {
    overflow-wrap: anywhere;
  }
`;function $r(e){let t=new Map;for(let n of e){let e=[n.result,n.reason?.plugin,n.reason?.reason??n.message].join(`\0`),r=t.get(e)??{groups:[],podCount:0};r.groups.push(n),r.podCount+=n.podCount??0,t.set(e,r)}return[...t.values()].sort((e,t)=>t.podCount-e.podCount)}function ei(e){let t=e.reason?.nodeCount?` on ${k(e.reason.nodeCount,`node`)}`:``;return e.result===`DECISION_RESULT_SCHEDULED`?g`<p><span class="good">✓</span> ${e.message}${t}</p>`:g`<p><span class="bad">✕</span> <strong>${wn(e.reason)||e.message}</strong>${t}</p>
    <p>→ ${e.advice?.text??_t(e.reason?.plugin,e.reason?.reason)}</p>`}function ti(e){let{namespace:t=``,controllerKind:n,controllerName:r,examples:i=[],podCount:a=0}=e;return g`<p>
    ${n?g`<a href=${Or(t,n,r)}>${n} ${t}/${r}</a>`:g`Pods of ${t}`}
    <span class="quiet"
      >· ${k(a,`pod`)}${e.oldestTime?`, oldest ${j(e.oldestTime)}`:``}:</span
    >
    ${i.map((e,t)=>g`${t?`, `:v}<a href=${Y(e)}>${V(e)}</a>`)}${a>i.length?g` <span class="quiet">and ${O(a-i.length)} more</span>`:v}
    ${e.lastSeq?g`<span class="quiet">·</span> <a href=${R([`decisions`,e.lastSeq])}>newest decision</a>`:v}
  </p>`}var ni=5e3,ri=6e4,ii=30,ai=1e3,oi={askNow:!0,advise:!0,limit:1e3},si=10,ci=3,li=class extends x{constructor(...e){super(...e),this.all=!1,this.info=new G(this,e=>U(`ClusterService/GetClusterInfo`,{},e),{every:ni}),this.reasons=new G(this,e=>U(`DecisionService/SummarizeReasons`,oi,e),{every:()=>this.reasons.value?.askedCount&&!this.reasons.value.unexplainedCount?ri:ni}),this.latest=new G(this,di,{every:ni})}static{this.styles=[E,Qr,o`
      .tiles {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(11rem, 40vw), 1fr));
        gap: var(--s3);
      }
      .tile {
        display: flex;
        flex-direction: column;
        padding: var(--s3) var(--s4);
      }
      .tile dd {
        overflow-wrap: anywhere;
      }
      .tile dt {
        color: var(--quiet);
      }
      .tile dd:nth-of-type(1) {
        font-size: 1.375rem;
        line-height: 1.4;
        font-weight: 600;
        letter-spacing: -0.01em;
      }
      .group {
        display: grid;
        grid-template-columns: 5.5rem minmax(0, 1fr) 8rem;
        gap: var(--s1) var(--s4);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
        line-height: 1.3;
      }
      svg {
        display: block;
        width: 100%;
        height: 32px;
        color: var(--bad);
      }
      @media (max-width: 40rem) {
        .group {
          grid-template-columns: 3.5rem minmax(0, 1fr);
        }
        .trend {
          grid-column: 2;
          max-width: 10rem;
        }
      }
    `]}render(){return g`<div class="stack">
      <h1>Overview</h1>
      ${this.info.show(e=>this.tiles(e))}
      <section class="stack tight" aria-labelledby="attention">
        <div class="row between">
          <h2 id="attention">Needs attention</h2>
          ${this.reasons.value?g`<mooring-copy
                .copies=${W(`mooring why-pending`,`DecisionService/SummarizeReasons`,oi)}
              ></mooring-copy>`:v}
        </div>
        ${this.reasons.show(e=>this.causes(e))}
      </section>
    </div>`}tiles(e){let t=e.provenance?.configurationHash??``,n=Math.max(0,...(e.sources??[]).map(e=>Number(e.stalenessSeconds??0))),r=(e.sources??[]).flatMap(e=>e.error?[`${e.name}: ${e.error}`]:[]),i=e.pendingPodCount??0;return g`<dl class="tiles">
        ${pi(`Cluster state`,g`<span class=${e.synced?`good`:`warn`}>${e.synced?`✓ synced`:`… reading`}</span>`,[n>ii?g`<span class="warn">⚠ ${ut(n)} old</span>`:this.source(e)])}
        ${pi(`Decisions`,g`${this.rate()}`,[ui(e)])}
        ${pi(`Pending pods`,g`<span class=${i?`warn`:`good`}>${i?``:`✓ `}${O(i)}</span>`,[g`of ${k(e.podCount??0,`pod`)}`])}
        ${pi(`Nodes`,g`${O(e.nodeCount??0)}`,[g`Kubernetes ${e.kubeVersion} rules`])}
        ${pi(`Configuration`,g`<span class="mono" title=${t}>${t.slice(0,8)}</span>`,[g`<a href=${R([`profiles`])}>in force for ${j(e.configurationTime)}</a>`,g`mooring ${e.serverVersion}, up ${j(e.startTime)}`])}
      </dl>
      ${r.map(e=>g`<p class="failure" role="alert">${e}</p>`)}`}causes({groups:e=[],groupCount:t=0,askedCount:n=0,unexplainedCount:r=0}){if(!e.length&&!r)return g`<p class="card">✓ No pod waits for a node.</p>`;let i=$r(e),a=this.all?i:i.slice(0,si);return g`${n?g`<p class="quiet">${k(n,`pod`)} evaluated now, each by itself: no decision about them is remembered.</p>`:v}
      <ul class="groups">
        ${a.map(fi)}
      </ul>
      ${i.length>si?g`<p>
            <button aria-expanded=${this.all} @click=${()=>this.all=!this.all}>
              ${this.all?`Show the ${si} with the most pods`:`Show ${k(i.length-si,`more cause`)}`}
            </button>
          </p>`:v}
      ${t>e.length?g`<p class="quiet">… and ${k(t-e.length,`more owner`)} with fewer pods</p>`:v}
      ${r?g`<p class="quiet">
            … and ${k(r,`more pod`)} without a node, not evaluated yet.
            <a href=${R([`pods`],{show:`pending`})}>Ask about one</a>
          </p>`:v}`}source(e){let t=(e.sources??[]).map(e=>e.name).join(`, `);return g`<span title=${t}>${t}</span>`}rate(){let e=this.latest.value;if(!e?.length)return e?`none yet`:`–`;let t=(Date.now()-Date.parse(e[0].time??``))/1e3,n=e.length/Math.max(1,t);return n>=.1?`${O(n)}/s`:`last ${j(e.at(-1).time)} ago`}};D([w()],li.prototype,`all`,void 0),li=D([S(`mooring-overview`)],li);function ui({leads:e=!1,leader:t=``}){return e?g`${t?`✓ leads, `:v}<a href=${R([`decisions`])}>as they are made</a>`:g`<span class="warn" title=${t}>⚠ waits: ${t||`no process`} leads</span>`}async function di(e){return(await U(`DecisionService/ListDecisions`,{limit:ai},e)).decisions??[]}function fi({groups:e,podCount:t}){let n=e.slice(0,ci),r=e.slice(ci);return g`<li class="card group">
    <div>
      <div class="count">${O(t)}</div>
      <div class="quiet">${t===1?`pod`:`pods`}</div>
    </div>
    <div class="stack tight">
      ${ei(e[0])}
      <div>${n.map(ti)}</div>
      ${r.length?g`<details><summary>${k(r.length,`more owner`)}</summary>${r.map(ti)}</details>`:v}
    </div>
    ${mi(e)}
  </li>`}function pi(e,t,n){return g`<div class="card tile">
    <dt>${e}</dt>
    <dd>${t}</dd>
    ${n.map(e=>g`<dd class="quiet">${e}</dd>`)}
  </div>`}function mi(e){let t=e.flatMap(({trend:e=[],lastSeq:t})=>t?[e]:[]),n=(t[0]??[]).map((e,n)=>t.reduce((e,t)=>e+(t[n]??0),0));if(!n.length)return v;let r=Math.max(1,...n),i=n.map((e,t)=>`${t},${1-e/r}`).join(` `);return g`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1,n.length-1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${i} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${O(n[0]??0)} → ${O(n.at(-1)??0)}</figcaption>
  </figure>`}var hi=1e4,gi=class extends x{constructor(...e){super(...e),this.namespace=``,this.kind=``,this.name=``,this.waiting=new G(this,e=>this.groups(e),{key:()=>`${this.namespace}/${this.kind}/${this.name}`,every:hi})}static{this.styles=[E,Qr,o`
      mooring-pod-list {
        --list-height: 60vh;
      }
    `]}render(){let e={namespace:this.namespace,controllerKind:this.kind,controllerName:this.name},t=this.waiting.value??[];return g`<div class="stack">
      <div class="row between">
        <h1>${this.kind} ${this.namespace}/${this.name}</h1>
        <mooring-copy
          .copies=${W(`mooring why-pending --namespace ${H(this.namespace)}`,`ClusterService/ListPods`,e)}
        ></mooring-copy>
      </div>
      <section class="stack tight" aria-labelledby="waiting">
        <h2 id="waiting">Why some of its pods wait</h2>
        ${this.waiting.show(()=>t.length?g`<ul class="groups">${t.map(e=>g`<li class="card stack tight">${ei(e)}</li>`)}</ul>`:v)}
        ${this.waiting.value&&!t.length?g`<p class="card">✓ None of its pods waits for a node.</p>`:v}
      </section>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${e} label="Pods of ${this.kind} ${this.name}" empty="No pod of it is known."></mooring-pod-list>
      </section>
    </div>`}async groups(e){let{groups:t=[]}=await U(`DecisionService/SummarizeReasons`,{namespace:this.namespace,askNow:!0,advise:!0,limit:1e3},e);return t.filter(({controllerKind:e,controllerName:t})=>e===this.kind&&t===this.name)}};D([C()],gi.prototype,`namespace`,void 0),D([C()],gi.prototype,`kind`,void 0),D([C()],gi.prototype,`name`,void 0),gi=D([S(`mooring-owner`)],gi);function _i(e,t,n=``){if(JSON.stringify(e)===JSON.stringify(t))return[];let[r,i]=[vi(e),vi(t)];if(!r||!i)return[{path:n,before:bi(e),after:bi(t)}];let a=[...new Set([...r.keys(),...i.keys()])].flatMap(e=>_i(r.get(e),i.get(e),e.startsWith(`[`)||!n?n+e:`${n}.${e}`));return a.length?a:[{path:`${n} (order)`,before:[...r.keys()].join(` `),after:[...i.keys()].join(` `)}]}function vi(e){return Array.isArray(e)?new Map(e.map((e,t)=>[`[${yi(e)??t}]`,e])):typeof e==`object`&&e?new Map(Object.entries(e)):void 0}function yi(e){if(typeof e!=`object`||!e)return;let{name:t,schedulerName:n}=e;return t??n}function bi(e){return e===void 0?void 0:JSON.stringify(e)}var xi=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.compared=new G(this,e=>Si(this.query,e),{key:()=>this.query.toString()}),this.profiles=new G(this,e=>U(`PluginService/ListProfiles`,{},e),{every:15e3}),this.plugins=new G(this,Ti)}static{this.styles=[E,o`
      .scroll {
        overflow-x: auto;
      }
      table {
        border-collapse: collapse;
        font-size: 0.8125rem;
      }
      th {
        text-align: start;
        font-weight: inherit;
        white-space: nowrap;
      }
      thead th {
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s3);
        border-bottom: 1px solid var(--line);
      }
      td,
      thead th:nth-child(n + 2) {
        text-align: center;
        white-space: nowrap;
      }
      tbody th {
        position: sticky;
        left: 0;
        background: var(--raised);
      }
      .list td,
      .list thead th:nth-child(n + 2) {
        text-align: start;
      }
      .periods {
        padding-inline-start: var(--s4);
      }
      .weight {
        font-weight: 600;
      }
    `]}render(){return g`<div class="stack">
      <div class="row between">
        <h1>Profiles</h1>
        <mooring-copy
          .copies=${W(``,`PluginService/ListProfiles`,{})}
        ></mooring-copy>
      </div>
      ${this.profiles.show(({profiles:e=[],configurationHash:t=``,configurations:n=[]})=>g`<p class="quiet">Configuration <span class="mono">${t}</span></p>
            ${this.query.get(`from`)?this.comparison():v}
            ${n.length>1?wi(n):v} ${e.map(Di)}`)}
      <section class="card stack tight" aria-labelledby="plugins">
        <h2 id="plugins">All plugins that the process knows</h2>
        ${this.plugins.show(e=>Oi(e))}
      </section>
    </div>`}comparison(){let[e,t]=[this.query.get(`from`)??``,this.query.get(`to`)??``];return g`<section class="card stack tight" aria-labelledby="compared">
      <div class="row between">
        <h2 id="compared">From <span class="mono">${e.slice(0,8)}</span> to ${t?g`<span class="mono">${t.slice(0,8)}</span>`:`now`}</h2>
        <a href=${R([`profiles`])}>Close</a>
      </div>
      ${this.compared.show(e=>e?.length?Ei(e):g`<p class="good">✓ Nothing differs.</p>`)}
    </section>`}};D([C({attribute:!1})],xi.prototype,`query`,void 0),xi=D([S(`mooring-profiles`)],xi);async function Si(e,t){let[n,r]=[e.get(`from`),e.get(`to`)??``];if(!n)return;let[i,a]=await Promise.all([Ci(n,t),Ci(r,t)]);return _i(i,a)}async function Ci(e,t){let{profiles:n=[]}=await U(`PluginService/ListProfiles`,{configurationHash:e},t);return Object.fromEntries(n.map(({name:e=``,configurationJson:t=`{}`})=>[e,JSON.parse(t)]))}function wi(e){return g`<section class="card stack tight" aria-labelledby="periods">
    <h2 id="periods">Since the start</h2>
    <ol class="periods">
      ${e.map(({hash:t=``,beginTime:n},r)=>{let i=e[r-1]?.hash;return g`<li>
          <span class="mono">${t.slice(0,8)}</span> ${j(n)} ago
          ${i&&i!==t?g`<a href=${R([`profiles`],{from:i,to:t})}>what it changed</a>`:v}
        </li>`})}
    </ol>
  </section>`}async function Ti(e){return(await U(`PluginService/ListPlugins`,{},e)).plugins??[]}function Ei(e){return g`<div class="scroll" tabindex="0" role="group" aria-label="Differences">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({path:e,before:t,after:n})=>g`<tr>
              <th scope="row">${e}</th>
              <td class="mono">${t??g`<span class="quiet">absent</span>`}</td>
              <td class="mono">${n??g`<span class="quiet">absent</span>`}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Di({name:e=``,extensionPoints:t=[],weightSum:n=`0`,unsupportedPlugins:r=[]}){let i=t.map(({extensionPoint:e,plugins:t=[]})=>({point:Cn(e??``),plugins:t})),a=[...new Set(i.flatMap(({plugins:e})=>e.map(e=>e.name??``)))];return g`<section class="card stack tight" aria-label="Profile ${e}">
    <div class="row between">
      <h2>${e}</h2>
      <p class="quiet">Numbers are the order of calls; a total is at most ${O(100*Number(n))}</p>
    </div>
    ${r.length?g`<p class="warn">⚠ Not evaluated: ${r.join(`, `)}</p>`:v}
    <div class="scroll" tabindex="0" role="group" aria-label="Plugins of ${e} by extension point">
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            ${i.map(({point:e})=>g`<th scope="col">${e}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${a.map(e=>g`<tr>
                <th scope="row"><a href=${R([`plugins`,e])}>${e}</a></th>
                ${i.map(({plugins:t})=>{let n=t.findIndex(t=>t.name===e),r=Number(t[n]?.weight??0);return g`<td>${n<0?v:n+1}${r?g` <span class="weight">× ${r}</span>`:v}</td>`})}
              </tr>`)}
        </tbody>
      </table>
    </div>
  </section>`}function Oi(e){return g`<div class="scroll" tabindex="0" role="group" aria-label="All plugins">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">In profiles</th>
          <th scope="col">Extension points</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({name:e=``,state:t,source:n,profiles:r=[],extensionPoints:i=[]})=>g`<tr>
              <th scope="row"><a href=${R([`plugins`,e])}>${e}</a></th>
              <td>${ki(t)}</td>
              <td>${n}</td>
              <td>${r.join(`, `)||g`<span class="quiet">none</span>`}</td>
              <td>${i.map(Cn).join(`, `)}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function ki(e){let t=B(e,`PLUGIN_STATE_`);return t===`available`?g`<span class="good">✓ ${t}</span>`:g`<span class=${t===`failed`?`bad`:`warn`}>${t===`failed`?`✕`:`⚠`} ${t}</span>`}var Ai=class extends x{constructor(...e){super(...e),this.name=``,this.info=new G(this,async e=>(await Ti(e)).find(({name:e})=>e===this.name),{key:()=>this.name}),this.profiles=new G(this,async e=>(await U(`PluginService/ListProfiles`,{},e)).profiles??[]),this.rejections=new G(this,e=>this.listRejections(e),{key:()=>this.name})}static{this.styles=[E]}render(){return g`<div class="stack">
      <h1>${this.name}</h1>
      ${this.info.show(e=>e?ji(e):g`<p class="failure" role="alert">The process knows no such plugin.</p>`)}
      ${this.profiles.show(e=>e.map(e=>this.configured(e)))}
      <section class="stack tight" aria-labelledby="rejections">
        <h2 id="rejections">Decisions in which it rejected something</h2>
        ${this.rejections.show(e=>yr(`Decisions in which the plugin rejected something, the newest first`,e))}
      </section>
    </div>`}configured({name:e,extensionPoints:t=[],configurationJson:n=`{}`}){let r=t.filter(({plugins:e=[]})=>e.some(({name:e})=>e===this.name));if(!r.length)return v;let i=r.flatMap(({plugins:e=[]})=>e.filter(({name:e})=>e===this.name)).find(e=>e.weight)?.weight,{pluginConfig:a=[]}=JSON.parse(n),o=a.find(({name:e})=>e===this.name)?.args;return g`<section class="card stack tight" aria-label="In profile ${e}">
      <h2>In profile ${e}</h2>
      <dl class="facts">
        <div><dt>Extension points</dt><dd>${r.map(({extensionPoint:e})=>Cn(e??``)).join(`, `)}</dd></div>
        ${i?g`<div><dt>Weight</dt><dd>${i}</dd></div>`:v}
      </dl>
      ${o?g`<pre tabindex="0" aria-label="Arguments">${JSON.stringify(o,void 0,2)}</pre>`:g`<p class="quiet">No arguments.</p>`}
    </section>`}async listRejections(e){return((await U(`DecisionService/ListDecisions`,{filter:{rejectingPlugin:this.name},limit:100},e)).decisions??[]).reverse()}};D([C()],Ai.prototype,`name`,void 0),Ai=D([S(`mooring-plugin`)],Ai);function ji({state:e,source:t,profiles:n=[],loadError:r}){return g`<dl class="facts">
      <div><dt>State</dt><dd>${ki(e)}</dd></div>
      <div><dt>From</dt><dd>${t}</dd></div>
      <div><dt>In profiles</dt><dd>${n.join(`, `)||`none`}</dd></div>
    </dl>
    ${r?g`<pre tabindex="0">${r}</pre>`:v}`}var X=class extends x{constructor(...e){super(...e),this.session=``,this.asked=!1,this.asking=!1}static{this.styles=[E,o`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
    `]}updated(e){e.has(`pod`)&&this.asked&&this.ask()}render(){return g`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">${this.group?`What would make its group fit?`:`What would make it fit?`}</h2>
        <button ?disabled=${this.asking||!this.pod} @click=${()=>void this.ask()}>Find the fewest changes</button>
      </div>
      <div role="status" class="quiet">${this.asking?`Trying on a copy of the cluster …`:v}</div>
      ${this.error?Gn(this.error,()=>void this.ask()):v} ${this.found?Mi(this.found):v}
    </section>`}async ask(){[this.asking,this.error,this.found]=[!0,void 0,void 0];try{this.found=await this.askGroup()??{response:await U(`SimulationService/SuggestChanges`,{session:this.session,pod:this.pod})}}catch(e){this.error=e}this.asking=!1}async askGroup(){let{session:e,group:t}=this;if(t)try{return{group:t,response:await U(`SimulationService/SuggestChanges`,{session:e,group:t})}}catch(e){if(e instanceof En&&e.reason===`GROUPS_OFF`)return;throw e}}};D([C({attribute:!1})],X.prototype,`pod`,void 0),D([C({attribute:!1})],X.prototype,`group`,void 0),D([C()],X.prototype,`session`,void 0),D([C({type:Boolean})],X.prototype,`asked`,void 0),D([w()],X.prototype,`found`,void 0),D([w()],X.prototype,`asking`,void 0),D([w()],X.prototype,`error`,void 0),X=D([S(`mooring-changes`)],X);function Mi({group:e,response:t}){return g`${e?g`<p class="quiet">Of pod group ${e.namespace}/${e.name}, with all its pods as the cluster has them:</p>`:v}${Ni(t)}`}function Ni(e){let{verdict:t,options:n=[],complete:r=!1}=e;if(t?.code===`VERDICT_CODE_SUCCESS`)return g`<p class="good">✓ It fits as it is.</p>`;let i=Pi(e);if(!n.length)return g`${i}<p>No set of changes was found with which it fits.</p>`;let a=r?v:g`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;return g`${i}
    <ol>
      ${n.map(e=>g`<li>
            <p><strong>${e.text}</strong></p>
            <p class="quiet">${k(e.steps?.length??0,`change`)}, then ${Fi(e)}.</p>
          </li>`)}
    </ol>
    ${a}`}function Pi({preemptionNode:e=``,candidates:t=[]}){let n=t.find(({node:t})=>t===e);if(!n)return g``;let r=(n.victims??[]).map(({reference:e})=>V(e)),i=n.violatedBudgets??[];return g`<p>
    It runs on ${e} once ${r.slice(0,3).join(`, `)}${r.length>3?` and ${r.length-3} more`:``}
    ${r.length===1?`is`:`are`} preempted.${i.length?` This violates ${i.join(`, `)}.`:v}
  </p>`}function Fi({node:e,landings:t=[]}){let n=e=>g`<a href=${R([`nodes`,e])}>${e}</a>`;if(e)return g`${n(e)} takes it`;let r=new Map;for(let e of t)r.set(e.node??``,(r.get(e.node??``)??0)+1);return g`it has ${[...r].map(([e,t],r)=>g`${r?`, `:v}${k(t,`pod`)} on ${n(e)}`)}`}var Ii={"*":`anything`,Pod:`a pod`,AssignedPod:`a pod on a node`,UnscheduledPod:`a pending pod`,TargetPod:`the pod itself`,Node:`a node`},Li={Add:`is added`,Delete:`goes`,Update:`changes`,"*":`changes`,UpdateOther:`changes`,UpdateNodeAllocatable:`offers another amount`,UpdateNodeLabel:`gets other labels`,UpdateNodeTaint:`gets other taints`,UpdateNodeCondition:`gets another condition`,UpdateNodeAnnotation:`gets other annotations`,UpdateNodeDeclaredFeature:`declares other features`,UpdatePodLabel:`gets other labels`,UpdatePodScaleDown:`requests less`,UpdatePodScaleUp:`requests more`,UpdatePodToleration:`gets a toleration`,UpdatePodSchedulingGatesEliminated:`loses its gates`,UpdatePodGeneratedResourceClaim:`gets its claim`};function Ri(e){let t=new Map;for(let n of e){let[,e=n,r=``]=/^(.*)\/([^/]*)$/.exec(n)??[],i=Li[r]??r.replace(/([a-z])([A-Z])/g,`$1 $2`).toLowerCase();t.set(e,[...t.get(e)??[],i])}return[...t].map(([e,t])=>`${zi(e)} ${Bi(t)}`).join(`; `)}function zi(e){return Ii[e]??`a ${e.replace(/^.*\//,``)}`}function Bi(e){let t=[...new Set(e)];return t.length>1?`${t.slice(0,-1).join(`, `)} or ${t.at(-1)}`:t[0]??``}var Vi=`QUEUE_PLACE_`,Hi={in_flight:`being tried right now`,active:`tried when their turn comes`,backoff:`held back for a while after a failure`,unschedulable:`wait for a change that may help`,gated:`not let in by a PreEnqueue plugin`},Ui=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.queue=new G(this,Wi,{every:2e3})}static{this.styles=[E,o`
      .places {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--s3);
      }
      .place {
        display: grid;
        text-align: start;
        white-space: normal;
        padding: var(--s3) var(--s4);
        align-content: start;
        border-radius: calc(2 * var(--radius));
      }
      .place[aria-pressed="true"] {
        background: var(--tint);
        color: inherit;
        border-color: var(--accent);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
      }
      mooring-grid {
        --grid-height: calc(100vh - 20rem);
      }
    `]}render(){return g`<div class="stack">
      <div class="row between">
        <h1>Queue</h1>
        <mooring-copy
          .copies=${this.queue.value===null?W(`mooring why-pending`,`ClusterService/ListPods`,{placed:!1}):W(``,`DecisionService/ListQueue`,{})}
        ></mooring-copy>
      </div>
      ${this.queue.show(e=>e?this.places(e):Gi())}
    </div>`}places({pods:e=[],counts:t=[]}){let n=this.query.get(`place`)??``,r=e=>t.find(t=>t.place===Vi+e.toUpperCase())?.podCount??0,i=n?e.filter(({place:e})=>e===Vi+n.toUpperCase()):e;return g`<div class="places" role="group" aria-label="Places">
        ${Object.entries(Hi).map(([e,t])=>g`<button class="place" aria-pressed=${n===e} @click=${()=>z({place:n===e?``:e})}>
              <span>${B(e,``)}</span><span class="count">${O(r(e))}</span><span class="quiet">${t}</span>
            </button>`)}
      </div>
      <mooring-grid
        label="Pods in the queue, in the order in which they are tried or have waited"
        .columns=${Ji}
        .rows=${i}
        .keyOf=${e=>V(e.pod)}
        empty="No pod waits here."
        @mooring-open=${e=>location.hash=Y(e.detail.pod)}
      ></mooring-grid>`}};D([C({attribute:!1})],Ui.prototype,`query`,void 0),Ui=D([S(`mooring-queue`)],Ui);async function Wi(e){return await In(`DecisionService/ListQueue`)?U(`DecisionService/ListQueue`,{},e):null}function Gi(){return g`<p class="card">
      This process answers questions and has no queue: only a scheduler has one, such as
      <span class="mono">mooring scheduler</span>. These are the pods without a node:
    </p>
    <mooring-pod-list .request=${{placed:!1}} label="Pods without a node" empty="No pod waits for a node."></mooring-pod-list>`}function Ki(e){return Ri([...new Set((e.wakes??[]).flatMap(({events:e=[]})=>e))])}function qi(e){return(e.wakes??[]).map(({plugin:e,events:t=[]})=>`${e} on ${t.join(`, `)}`).join(`; `)}var Ji=[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e})=>g`<a tabindex="-1" href=${Y(e)} title=${V(e)}>${V(e)}</a>`},{id:`place`,title:`Place`,width:`8rem`,cell:({place:e})=>B(e,Vi)},{id:`waits`,title:`There for`,width:`6rem`,numeric:!0,cell:({placeTime:e})=>j(e)},{id:`age`,title:`In queue`,width:`6rem`,numeric:!0,cell:({addedTime:e})=>j(e)},{id:`priority`,title:`Priority`,width:`6rem`,numeric:!0,cell:({priority:e=0})=>O(e)},{id:`attempts`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({attempts:e=0})=>O(e)},{id:`wakes`,title:`Would wake it`,width:`minmax(18rem, 1fr)`,cell:e=>g`<span title=${qi(e)}>${Ki(e)||g`<span class="quiet">its turn</span>`}</span>`}],Yi=class extends x{constructor(...e){super(...e),this.namespace=``,this.name=``,this.key=()=>`${this.namespace}/${this.name}`,this.queued=new G(this,e=>this.findQueued(e),{key:this.key,every:5e3}),this.attempts=new G(this,e=>this.listAttempts(e),{key:this.key,every:5e3}),this.manifest=new G(this,e=>K(`Pod`,this.namespace,this.name,e),{key:this.key}),this.now=new G(this,e=>On(this.question(),e),{key:this.key})}static{this.styles=[E]}render(){let e=H(this.key()),t=this.question();return g`<div class="stack">
      <div class="row between">
        <h1>${this.key()}</h1>
        <mooring-copy
          .copies=${[...W(`mooring explain ${e}`,`SchedulingService/Explain`,t),{name:`kubectl`,text:`kubectl get pod ${H(this.name)} -n ${H(this.namespace)} -o yaml`}]}
        ></mooring-copy>
      </div>
      ${this.owned(this.manifest.value)} ${this.queued.value?this.place(this.queued.value):v}
      <section class="stack tight" aria-labelledby="attempts">
        <h2 id="attempts">Decisions about it</h2>
        ${this.attempts.show(e=>yr(`Decisions about this pod, the newest first`,e))}
      </section>
      <section class="stack tight" aria-labelledby="now">
        <div class="row between">
          <h2 id="now">Where it would go now</h2>
          <span class="row">
            <button @click=${()=>void this.now.run()}>Explain again</button>
            <a href=${R([`what-if`],{pod:this.key()})}>What if …</a>
          </span>
        </div>
        ${this.now.show(e=>g`<mooring-decision .columns=${e} .nodesWith=${zn}></mooring-decision>`)}
      </section>
      ${this.now.value&&this.manifest.value?this.changes(this.manifest.value):v}
      <mooring-manifest .namespace=${this.namespace} .name=${this.name}></mooring-manifest>
    </div>`}owned(e){let t=e?.metadata?.ownerReferences?.find(e=>e.controller),n=e?.spec?.nodeName;return!t&&!n?v:g`<dl class="facts">
      ${t?g`<div><dt>Owner</dt><dd><a href=${Or(this.namespace,t.kind??``,t.name)}>${t.kind} ${t.name}</a></dd></div>`:v}
      ${n?g`<div><dt>Node</dt><dd><a href=${R([`nodes`,n])}>${n}</a></dd></div>`:v}
    </dl>`}changes(e){return $e(this.key(),g`<mooring-changes .pod=${this.question().pod} .group=${tr(e)}></mooring-changes>`)}place(e){let t=e.readyTime?g`<div><dt>Ready</dt><dd>${new Date(e.readyTime).toLocaleTimeString(`en-GB`)}</dd></div>`:v;return g`<dl class="facts card">
      <div><dt>Waits in</dt><dd>${B(e.place,`QUEUE_PLACE_`)} for ${j(e.placeTime)}</dd></div>
      <div><dt>Priority</dt><dd>${O(e.priority??0)}</dd></div>
      <div><dt>Attempts</dt><dd>${O(e.attempts??0)}</dd></div>
      ${t}
      <div><dt>Would wake it</dt><dd title=${qi(e)}>${Ki(e)||`its turn`}</dd></div>
    </dl>`}question(){return{pod:{reference:{namespace:this.namespace,name:this.name}},allRejections:!0}}async findQueued(e){if(!await In(`DecisionService/ListQueue`))return;let{pods:t=[]}=await U(`DecisionService/ListQueue`,{namespace:this.namespace,limit:1e4},e);return t.find(({pod:e})=>e?.name===this.name)}async listAttempts(e){return((await U(`DecisionService/ListDecisions`,{filter:{namespace:this.namespace,pod:this.name},limit:100},e)).decisions??[]).reverse()}};D([C()],Yi.prototype,`namespace`,void 0),D([C()],Yi.prototype,`name`,void 0),Yi=D([S(`mooring-pod`)],Yi);var Xi={"":{title:`All`},pending:{title:`Pending`,placed:!1},placed:{title:`Placed`,placed:!0}},Zi=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams}static{this.styles=[E,o`
      input {
        width: min(22rem, calc(100vw - 2 * var(--s4)));
      }
    `]}render(){let e=this.query.get(`show`)??``,t=this.request(e);return g`<div class="stack tight">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${Object.entries(Xi).map(([t,{title:n}])=>g`<button aria-pressed=${e===t} @click=${()=>z({show:t})}>${n}</button>`)}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace, name or labels"
            placeholder="Filter by namespace/name, or app=web"
            .value=${this.query.get(`name`)??``}
            @input=${e=>z({name:e.target.value})}
          />
          <mooring-copy .copies=${W(``,`ClusterService/ListPods`,t)}></mooring-copy>
        </div>
      </div>
      <mooring-pod-list .request=${t}></mooring-pod-list>
    </div>`}request(e){let t=(this.query.get(`name`)??``).trim(),{placed:n}=Xi[e]??{};return{...Yt(t)?{labelSelector:t}:t?{namePart:t}:{},...n===void 0?{}:{placed:n}}}};D([C({attribute:!1})],Zi.prototype,`query`,void 0),Zi=D([S(`mooring-pods`)],Zi);var Qi=`600s`,$i=`kubernetes.io/hostname`,ea=class{constructor(){this.session=``,this.steps=[]}async cordon(e){let t=await K(`Node`,``,e);await this.change(`cordon ${e}`,[na({...t,spec:{...t.spec,unschedulable:!0}})])}async remove(e){await this.change(`remove ${e}`,[{remove:{kind:`Node`,name:e}}])}async add(e){let t=e.map(({kind:e,metadata:t})=>`${e??``} ${t?.name??``}`),n=t.length>3?` and ${t.length-3} more`:``,r=e.filter(({kind:e,spec:t})=>e===`Pod`&&!t?.nodeName).map(({metadata:e})=>({namespace:e?.namespace??`default`,name:e?.name??``}));await this.change(`add ${t.slice(0,3).join(`, `)}${n}`,e.map(na),r)}addedPods(){return this.steps.flatMap(({pods:e=[]})=>e)}async configure(e){let{session:t}=this,{session:n,warnings:r=[]}=await U(`SimulationService/OpenSession`,{fromSession:t,lease:Qi,configuration:e});return this.session=n?.id??``,this.steps=[...this.steps,{words:`decide by another configuration`,session:t}],r}async addLike(e,t){let n=await K(`Node`,``,e),r=Array.from({length:t},(t,r)=>na(ra(n,`${e}-copy-${this.steps.length+1}-${r+1}`)));await this.change(`add ${t} like ${e}`,r)}async undo(){let e=this.steps.at(-1);e&&(e.mark?await U(`SimulationService/RevertSession`,{session:this.session,mark:e.mark}):ta(this.session),this.session=e.session,this.steps=this.steps.slice(0,-1))}close(){let e=new Set([this.session,...this.steps.map(({session:e})=>e)]);[this.session,this.steps]=[``,[]];for(let t of e)ta(t)}async change(e,t,n=[]){if(!this.session){let{session:e}=await U(`SimulationService/OpenSession`,{lease:Qi});this.session=e?.id??``}let{session:r}=this,{mark:i=0}=await U(`SimulationService/MarkSession`,{session:r});await U(`SimulationService/ChangeSession`,{session:r,changes:t}),this.steps=[...this.steps,{words:e,session:r,mark:i,pods:n}]}};function ta(e){e&&U(`SimulationService/CloseSession`,{session:e}).catch(()=>void 0)}function na(e){return{put:{objects:[rr(e)]}}}function ra(e,t){let n={...e.metadata?.labels,[$i]:t};return{...e,metadata:{...e.metadata,name:t,uid:t,labels:n}}}var ia=200,aa=500,oa=`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
`,sa=`apiVersion: v1
kind: Node
metadata:
  name: new-1
status:
  allocatable: {cpu: "8", memory: 32Gi, pods: "110"}
`,ca=`apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`,Z=class extends x{constructor(...e){super(...e),this.query=new URLSearchParams,this.node=``,this.text=ca,this.busy=``,this.count=1,this.configuration=oa,this.objects=sa,this.warnings=[],this.sandbox=new ea,this.nodes=new G(this,ha),this.pods=new G(this,ga),this.addObjects=async()=>this.sandbox.add(await $n(this.objects)),this.configure=async()=>{this.warnings=await this.sandbox.configure(this.configuration)},this.startOver=()=>{this.sandbox.close(),[this.answer,this.warnings]=[void 0,[]],this.requestUpdate()}}static{this.styles=[E,o`
      details > .stack {
        padding-top: var(--s2);
      }
      textarea {
        width: 100%;
        min-height: 10rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        line-height: 1.5;
        padding: var(--s3);
        resize: vertical;
      }
      .name {
        flex: 1 1 12rem;
      }
      .count {
        width: 4.5rem;
      }
      .steps {
        padding-inline-start: var(--s5);
      }
      .landings {
        list-style: none;
      }
      .landings li {
        border-top: 1px solid var(--line);
        padding: var(--s1) 0;
        overflow-wrap: anywhere;
      }
      label {
        display: contents;
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.sandbox.close()}willUpdate(e){if(!e.has(`query`))return;let[t,n]=[this.query.get(`pod`),this.query.get(`node`)];n&&(this.node=n),t?this.attempt(`Reading the pod`,async()=>void await this.takePod(t)):n&&this.askRemoval()}render(){return g`<div class="stack">
      <div>
        <h1>What if</h1>
        <p class="quiet">Asked of a copy of the cluster: nothing real changes.</p>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="cluster">
          <h2 id="cluster">… the cluster were different</h2>
          ${this.changing()}
        </section>
        <section class="card stack tight" aria-labelledby="pod">
          <h2 id="pod">… there were such a pod</h2>
          ${this.asking()}
        </section>
      </div>
      <div role="status" class="quiet">${this.busy&&`${this.busy} …`}</div>
      ${this.error?Gn(this.error,()=>this.error=void 0,`Dismiss`):v} ${this.answer?this.shown(this.answer):v}
    </div>`}changing(){let{sandbox:e,node:t}=this,n=(this.nodes.value??[]).filter(e=>e.includes(t)).slice(0,ia),r=(e,t)=>()=>void this.attempt(e,t);return g`<div class="row">
        <input
          class="name"
          list="nodes"
          aria-label="Node"
          placeholder="Node"
          autocomplete="off"
          spellcheck="false"
          .value=${t}
          @input=${e=>this.node=e.target.value.trim()}
        />
        <datalist id="nodes">${n.map(e=>g`<option value=${e}></option>`)}</datalist>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askRemoval()}>Where would its pods go?</button>
        <button ?disabled=${!t} @click=${r(`Cordoning`,()=>e.cordon(t))}>Cordon</button>
        <button ?disabled=${!t} @click=${r(`Removing`,()=>e.remove(t))}>Remove</button>
        <span class="row">
          <button ?disabled=${!t} @click=${r(`Adding`,()=>e.addLike(t,this.count))}>Add</button>
          <input
            class="count"
            type="number"
            min="1"
            max="1000"
            aria-label="How many nodes to add"
            .valueAsNumber=${this.count}
            @input=${e=>this.count=e.target.valueAsNumber||1}
          />
          <span>like it</span>
        </span>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askGroups()}>How many for the pending pods?</button>
      </div>
      ${this.editor(`Objects to add`,`Manifests to add, YAML or JSON`,this.objects,`Add them`,e=>this.objects=e,this.addObjects)}
      ${this.editor(`Another configuration`,`A KubeSchedulerConfiguration, YAML or JSON`,this.configuration,`Decide by it`,e=>this.configuration=e,this.configure)}
      ${this.warnings.map(e=>g`<p class="warn">⚠ ${e}</p>`)}
      <div class="row"><button @click=${()=>void this.askPending()}>Where do the pending pods go then?</button></div>
      ${e.steps.length?this.steps():g`<p class="quiet">As it is now: nothing is changed.</p>`}`}editor(e,t,n,r,i,a){return g`<details>
      <summary>${e}</summary>
      <div class="stack tight">
        <textarea
          aria-label=${t}
          spellcheck="false"
          autocomplete="off"
          .value=${n}
          @input=${e=>i(e.target.value)}
        ></textarea>
        <div class="row"><button @click=${()=>void this.attempt(`Changing the copy`,a)}>${r}</button></div>
      </div>
    </details>`}steps(){return g`<ol class="steps">
        ${this.sandbox.steps.map(({words:e})=>g`<li>${e}</li>`)}
      </ol>
      <div class="row">
        <button @click=${()=>void this.attempt(`Taking back`,()=>this.sandbox.undo())}>Take the last back</button>
        <button @click=${this.startOver}>Start over</button>
      </div>`}asking(){return g`<label
        ><span class="hidden">A pending pod</span
        ><select @change=${e=>void this.attempt(`Reading the pod`,()=>this.takePod(e.target.value))}>
          <option value="">Take a pending pod, or paste a manifest below</option>
          ${(this.pods.value??[]).map(e=>g`<option value=${e}>${e}</option>`)}
        </select></label
      >
      <textarea
        aria-label="Manifest of a pod or workload, YAML or JSON"
        spellcheck="false"
        autocomplete="off"
        .value=${this.text}
        @input=${e=>this.text=e.target.value}
      ></textarea>
      <div class="row">
        <button class="primary" @click=${()=>void this.askPlace()}>Where would it go?</button>
        <button @click=${()=>void this.askCapacity()}>How many would fit?</button>
        <button @click=${()=>void this.askChanges()}>What would make it fit?</button>
      </div>`}shown(e){return e.kind===`explanation`?g`<mooring-decision .columns=${e.columns}></mooring-decision>`:e.kind===`changes`?g`<mooring-changes .pod=${e.pod} .group=${e.group} .session=${this.sandbox.session} asked></mooring-changes>`:e.kind===`capacity`?fa(e.found):e.kind===`groups`?la(e.found,e.like):e.kind===`pending`?ua(e.rows):g`<div class="stack">${(e.found.nodes??[]).map(ma)} ${pa(e.found)}</div>`}async takePod(e){let[t=``,n=``]=e.split(`/`);n&&(this.text=await nr(await K(`Pod`,t,n)))}askPlace(){return this.attempt(`Placing`,async()=>{let e=await On({pod:await this.pod(),allRejections:!0,session:this.sandbox.session});this.answer={kind:`explanation`,columns:e}})}askCapacity(){return this.attempt(`Counting`,async()=>{let e=[await this.pod()];this.answer={kind:`capacity`,found:await U(`SimulationService/EstimateCapacity`,{session:this.sandbox.session,shapes:e,includeNodes:!0})}})}askChanges(){return this.attempt(`Reading the pod`,async()=>{let e=await Qn(this.text);this.answer={kind:`changes`,pod:{object:rr(e)},group:tr(e)}})}askRemoval(){return this.attempt(`Placing its pods`,async()=>{let e=await U(`SimulationService/PlanRemoval`,{session:this.sandbox.session,nodes:[this.node]});this.answer={kind:`removal`,found:e}})}askGroups(){return this.attempt(`Trying more nodes`,async()=>{let e=rr(await K(`Node`,``,this.node)),t={session:this.sandbox.session,groups:[{name:`${this.node}-more`,node:e}]};this.answer={kind:`groups`,found:await U(`SimulationService/PlanNodeGroups`,t),like:this.node}})}askPending(){return this.attempt(`Placing the pending pods`,async()=>{let{pods:e=[]}=await U(`ClusterService/ListPendingPods`,{pageSize:aa}),t=[...e.map(({pod:e})=>e),...this.sandbox.addedPods()],n=t.map(e=>({pod:{reference:e}}));if(!n.length)return void(this.answer={kind:`pending`,rows:[]});let{nodes:r,verdicts:i=[],podVerdicts:a=[]}=await U(`SchedulingService/Schedule`,{session:this.sandbox.session,templates:n}),o=r?.names?.names??[],s=t.map((e,t)=>({pod:e,node:o[t]??``,verdict:i[a[t]??0]}));this.answer={kind:`pending`,rows:s}})}async pod(){return{object:rr(await Qn(this.text))}}async attempt(e,t){if(!this.busy){[this.busy,this.error]=[e,void 0];try{await t()}catch(e){this.error=e}this.busy=``}}};D([C({attribute:!1})],Z.prototype,`query`,void 0),D([w()],Z.prototype,`node`,void 0),D([w()],Z.prototype,`text`,void 0),D([w()],Z.prototype,`busy`,void 0),D([w()],Z.prototype,`answer`,void 0),D([w()],Z.prototype,`error`,void 0),D([w()],Z.prototype,`count`,void 0),D([w()],Z.prototype,`configuration`,void 0),D([w()],Z.prototype,`objects`,void 0),D([w()],Z.prototype,`warnings`,void 0),Z=D([S(`mooring-what-if`)],Z);function la({options:e=[]},t){let[n]=e,{nodeCount:r=0,leftOver:i=[],daemonPodCount:a=0}=n??{},o=a?g` Each new node gets ${k(a,`pod`)} of DaemonSets first.`:v;return g`<section class="card stack tight" aria-labelledby="groups">
    <h2 id="groups">${r?`${k(r,`more node`)} like ${t}`:`More nodes like ${t} don't help`}</h2>
    <p>
      ${i.length?g`${k(i.length,`pending pod`)} would get no node even with more of them.`:r?`All pending pods get a node then.`:`Each pending pod has a node already.`}${o}
    </p>
    <ul class="landings">
      ${i.slice(0,ia).map(({pod:e,verdict:t})=>g`<li><a href=${Y(e)}>${V(e)}</a> <span class="bad">✕ ${da(t)}</span></li>`)}
    </ul>
  </section>`}function ua(e){let t=e.filter(({node:e})=>e).length;return g`<section class="card stack tight" aria-labelledby="placed">
    <h2 id="placed">${e.length?`${O(t)} of ${k(e.length,`pending pod`)} get a node`:`No pod waits for a node`}</h2>
    <ul class="landings">
      ${e.map(({pod:e,node:t,verdict:n})=>g`<li>
            <a href=${Y(e)}>${V(e)}</a>
            ${t?g`→ <a href=${R([`nodes`,t])}>${t}</a>`:g`<span class="bad">✕ ${da(n)}</span>`}
          </li>`)}
    </ul>
  </section>`}function da(e){return e?.message||(e?.reasons??[]).join(`, `)}function fa(e){let[t]=e.shapes??[];if(!t)return g``;let{count:n=0,limited:r=!1,end:i,nodes:a=[]}=t,o=[...a].sort((e,t)=>(t.count??0)-(e.count??0)).slice(0,20);return g`<section class="card stack tight" aria-labelledby="room">
    <h2 id="room">${r?`At least `:``}${k(n,`more pod`)} would fit</h2>
    ${i?.message?g`<p>Then: ${i.message}</p>`:v}
    ${o.length?g`<p class="quiet">Most on ${o.map(e=>`${e.node} (${O(e.count??0)})`).join(`, `)}</p>`:v} ${pa(e)}
  </section>`}function pa({placedCount:e=0,unplaced:t=[],preempted:n=[]}){if(!e&&!t.length)return g``;let r=n.length?` They preempt ${n.slice(0,3).map(V).join(`, `)}${n.length>3?`, …`:``}.`:``;return g`<p class="quiet">Pending pods come first: ${e} placed, ${t.length} still pending.${r}</p>`}function ma({node:e,removable:t,landings:n=[],endingPodCount:r=0,alone:i=[],exhaustedBudgets:a=[]}){let o=n.filter(({waits:e})=>e).length;return g`<section class="card stack tight" aria-label="If ${e} goes">
    <h2>If ${e} goes</h2>
    <p>
      ${t?g`<span class="good">✓ It can go:</span> ${n.length?`each of its pods finds another node.`:`no pod has to move.`}`:o?g`<span class="bad">✕ ${k(o,`pod`)} would wait</span> until the Node object is deleted.`:g`<span class="bad">✕ It can't go:</span> not every pod finds another node.`}
      ${r?g`<span class="quiet">${k(r,`pod`)} of DaemonSets would end with it.</span>`:v}
    </p>
    ${a.map(e=>g`<p class="bad">PodDisruptionBudget ${e} allows no disruption now.</p>`)}
    ${i.length?g`<p class="quiet">Single replicas: ${i.map(V).join(`, `)}</p>`:v}
    <ul class="landings">
      ${n.map(({pod:e,node:t,verdict:n,waits:r})=>g`<li>
            <a href=${Y(e)}>${V(e)}</a>
            ${t?g`→ <a href=${R([`nodes`,t])}>${t}</a>${r?`, once the Node object is deleted`:v}`:g`<span class="bad">✕ ${da(n)}</span>`}
          </li>`)}
    </ul>
  </section>`}async function ha(e){return(await U(`ClusterService/ListNodes`,{},e)).nodes?.names?.names??[]}async function ga(e){return((await U(`ClusterService/ListPendingPods`,{},e)).pods??[]).map(({pod:e})=>V(e)).slice(0,ia)}var _a=[[`/`,`search pods, nodes, owners, plugins and views`],[`?`,`this help`],[`Tab`,`go to the next link, button or table`],[`↑ ↓ Page Home End`,`move in a table`],[`Enter`,`open the row of a table`],[`Space`,`in the table of one decision, pin a node; two pinned nodes are compared`],[`Esc`,`close this`]],va=[[`Feasible`,`No plugin rejects the node for the pod.`],[`Margin`,`How many points the selected node is ahead of the next one; tied nodes are chosen from by a seed.`],[`Rejected by`,`The first plugin that rejects a node, in the order of the profile.`],[`Pending`,`The pod has no node yet.`],[`In flight`,`The scheduler is trying the pod right now.`],[`Backoff`,`The pod failed before, and waits some seconds before it is tried again.`],[`Gated`,`A PreEnqueue plugin does not let the pod into the queue yet.`],[`Bars`,`What a node's pods request of what the node offers; not what they use.`]],ya=class extends x{static{this.styles=[E,o`
      dialog {
        width: min(42rem, calc(100vw - 2rem));
        max-height: 85vh;
        padding: var(--s5);
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      dl {
        display: grid;
        grid-template-columns: minmax(6rem, max-content) 1fr;
        gap: var(--s1) var(--s4);
      }
      dt {
        font-weight: 600;
      }
    `]}open(){this.dialog.open||this.dialog.showModal()}render(){return g`<dialog aria-labelledby="title" @click=${e=>e.target===this.dialog&&this.dialog.close()}>
      <div class="stack">
        <div class="row between">
          <h2 id="title">Help</h2>
          <button @click=${()=>this.dialog.close()}>Close</button>
        </div>
        <section class="stack tight" aria-labelledby="keys">
          <h3 id="keys">Keys</h3>
          <dl>${_a.map(([e,t])=>g`<dt><kbd>${e}</kbd></dt><dd>${t}</dd>`)}</dl>
        </section>
        <section class="stack tight" aria-labelledby="filters">
          <h3 id="filters">Filters</h3>
          <dl>
            <dt class="mono">app=web,!gpu</dt>
            <dd>labels, as kubectl takes them</dd>
            <dt class="mono">cpu&gt;2 memory&gt;4Gi</dt>
            <dd>nodes with so much room, in the list of nodes</dd>
            <dt>other words</dt>
            <dd>a part of a name, zone, taint or reason</dd>
          </dl>
        </section>
        <section class="stack tight" aria-labelledby="words">
          <h3 id="words">Words</h3>
          <dl>${va.map(([e,t])=>g`<dt>${e}</dt><dd>${t}</dd>`)}</dl>
        </section>
      </div>
    </dialog>`}};D([T(`dialog`)],ya.prototype,`dialog`,void 0),ya=D([S(`mooring-help`)],ya);var ba=8,xa=120,Q=class extends x{constructor(...e){super(...e),this.hits=[],this.active=0,this.text=``,this.problem=``,this.views=[],this.abort=new AbortController,this.onBackdrop=e=>{e.target===this.dialog&&this.dialog.close()},this.onInput=e=>{this.text=e.target.value.trim(),this.find()},this.onKey=e=>{let t={ArrowDown:1,ArrowUp:-1}[e.key],n=this.hits[this.active];if(t&&this.hits.length)this.active=(this.active+t+this.hits.length)%this.hits.length;else if(e.key===`Enter`&&n)this.go(n);else return;e.preventDefault(),this.updateComplete.then(()=>this.renderRoot.querySelector(`[aria-selected=true]`)?.scrollIntoView({block:`nearest`}))}}static{this.styles=[E,o`
      dialog {
        width: min(40rem, calc(100vw - 2rem));
        margin-top: 12vh;
        padding: 0;
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      input {
        width: 100%;
        border: 0;
        border-bottom: 1px solid var(--line);
        border-radius: 0;
        padding: var(--s3) var(--s4);
        font-size: 1rem;
      }
      input:focus-visible {
        outline-offset: -2px;
      }
      ul {
        list-style: none;
        max-height: 60vh;
        overflow-y: auto;
      }
      li {
        display: grid;
        grid-template-columns: 4.5rem 1fr;
        padding: var(--s2) var(--s4);
        cursor: pointer;
        overflow-wrap: anywhere;
      }
      li[aria-selected="true"] {
        background: var(--tint);
        box-shadow: inset 3px 0 var(--accent);
      }
      p {
        padding: var(--s3) var(--s4);
      }
    `]}open(e){this.views=e.map(({title:e,href:t})=>({kind:`View`,name:e,href:t})),this.known=void 0,this.text=``,this.find(),this.dialog.open||this.dialog.showModal()}render(){let e=this.problem||(this.text&&!this.hits.length?`Nothing has such a name.`:``);return g`<dialog aria-label="Search" @click=${this.onBackdrop}>
      <input
        role="combobox"
        aria-label="Search pods, nodes, owners, plugins and views"
        aria-expanded="true"
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant=${this.hits.length?`hit-${this.active}`:v}
        placeholder="A part of the name of a pod, node, owner, plugin or view"
        autocomplete="off"
        spellcheck="false"
        .value=${this.text}
        @input=${this.onInput}
        @keydown=${this.onKey}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        ${this.hits.map((e,t)=>g`<li role="option" id="hit-${t}" aria-selected=${t===this.active} @click=${()=>this.go(e)}>
              <span class="quiet">${e.kind}</span><span>${e.name}</span>
            </li>`)}
      </ul>
      <p class="quiet" role="status" ?hidden=${!e}>${e}</p>
    </dialog>`}go({href:e}){this.dialog.close(),location.hash=e}async find(){this.abort.abort();let{signal:e}=this.abort=new AbortController,{text:t}=this;if(this.take(Sa(this.views,t)),t&&(await new Promise(e=>setTimeout(e,xa)),!e.aborted))try{let[n,r]=await Promise.all([this.known??=Ca(),wa(t,e)]);e.aborted||this.take([...Sa(this.views,t),...Sa(n,t),...r])}catch(t){if(e.aborted)return;this.known=void 0,this.problem=t.message}}take(e){[this.hits,this.active,this.problem]=[e,0,``]}};D([w()],Q.prototype,`hits`,void 0),D([w()],Q.prototype,`active`,void 0),D([w()],Q.prototype,`text`,void 0),D([w()],Q.prototype,`problem`,void 0),D([T(`dialog`)],Q.prototype,`dialog`,void 0),Q=D([S(`mooring-search`)],Q);function Sa(e,t){let n=t.toLowerCase(),r=({name:e})=>e.toLowerCase().indexOf(n);return e.filter(e=>r(e)>=0).sort((e,t)=>Number(r(e)>0)-Number(r(t)>0)).slice(0,ba)}async function Ca(){let[e,t]=await Promise.all([U(`ClusterService/ListNodes`,{}),U(`PluginService/ListPlugins`,{})]);return[...(e.nodes?.names?.names??[]).map(e=>({kind:`Node`,name:e,href:R([`nodes`,e])})),...(t.plugins??[]).map(({name:e=``})=>({kind:`Plugin`,name:e,href:R([`plugins`,e])}))]}async function wa(e,t){let{pods:n=[]}=await U(`ClusterService/ListPods`,{namePart:e,pageSize:ba},t),r=new Map;for(let{pod:e,controllerKind:t,controllerName:i=``}of n){if(!t)continue;let n=`${t} ${e?.namespace??``}/${i}`;r.set(n,{kind:`Owner`,name:n,href:R([`owners`,e?.namespace??``,t,i])})}let i=n.map(({pod:e})=>({kind:`Pod`,name:V(e),href:R([`pods`,e?.namespace??``,e?.name??``])}));return[...r.values(),...i]}var Ta=[`system`,`light`,`dark`],Ea=`mooring-theme`;function Da(){try{return Ta.find(e=>e===localStorage.getItem(Ea))??`system`}catch{return`system`}}function Oa(e){try{localStorage.setItem(Ea,e)}catch{}document.documentElement.style.colorScheme=e===`system`?``:e,dispatchEvent(new Event(`mooring-theme`))}var ka={"":{title:`Overview`,render:()=>g`<mooring-overview></mooring-overview>`},decisions:{title:`Decisions`,render:Aa},pods:{title:`Pods`,render:ja},nodes:{title:`Nodes`,render:Na},queue:{title:`Queue`,render:({query:e})=>g`<mooring-queue .query=${e}></mooring-queue>`},profiles:{title:`Profiles`,render:({query:e})=>g`<mooring-profiles .query=${e}></mooring-profiles>`},"what-if":{title:`What if`,render:({query:e})=>g`<mooring-what-if .query=${e}></mooring-what-if>`},owners:{title:``,render:Ma},plugins:{title:``,render:({path:[,e=``]})=>g`<mooring-plugin .name=${e}></mooring-plugin>`}},$=class extends x{constructor(...e){super(...e),this.route=L(location.hash),this.theme=Da(),this.processes=new G(this,kn,{every:15e3}),this.openSearch=()=>{let e=Object.entries(ka).filter(([,{title:e}])=>e);this.search.open(e.map(([e,{title:t}])=>({title:t,href:R(e?[e]:[])})))},this.onKey=e=>{let[t]=e.composedPath();if(!(t instanceof HTMLElement&&t.matches(`input, textarea, select`)||e.ctrlKey||e.metaKey||e.altKey)){if(e.key===`/`)this.openSearch();else if(e.key===`?`)this.help.open();else return;e.preventDefault()}},this.onHash=()=>{this.route=L(location.hash)}}static{this.styles=[et,E,o`
      :host {
        min-height: 100vh;
      }
      header {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--s5);
        padding: 0 var(--s5);
      }
      .brand {
        font-weight: 650;
        font-size: 1rem;
        letter-spacing: -0.01em;
        color: inherit;
        text-decoration: none;
        padding: var(--s3) 0;
      }
      nav {
        flex: 1 1 auto;
        min-width: 0;
        overflow-x: auto;
        scrollbar-width: none;
      }
      nav ul {
        display: flex;
        list-style: none;
        gap: var(--s1);
      }
      nav a {
        display: block;
        white-space: nowrap;
        padding: var(--s3) var(--s2);
        color: var(--quiet);
        text-decoration: none;
        border-bottom: 2px solid transparent;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        color: var(--text);
        border-color: var(--accent);
      }
      nav a:focus-visible {
        outline-offset: -2px;
      }
      main {
        max-width: 110rem;
        margin: 0 auto;
        padding: var(--s5);
      }
      main:focus {
        outline: none;
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      @media (max-width: 40rem) {
        header {
          padding: 0 var(--s4);
        }
        nav {
          order: 3;
          flex-basis: 100%;
        }
        .process {
          flex: 1;
          justify-content: end;
          padding-block: var(--s2);
        }
        kbd {
          display: none;
        }
        main {
          padding: var(--s4);
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`hashchange`,this.onHash),addEventListener(`keydown`,this.onKey),Oa(this.theme)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`hashchange`,this.onHash),removeEventListener(`keydown`,this.onKey)}updated(e){if(!e.has(`route`))return;let t=this.renderRoot.querySelector(`nav`),n=t?.querySelector(`[aria-current]`);t&&n&&(t.scrollLeft=n.offsetLeft-t.offsetLeft-(t.clientWidth-n.offsetWidth)/2)}render(){let[e=``]=this.route.path,t=ka[e];return document.title=[...this.route.path.slice().reverse(),`mooring`].join(` · `),g`<button class="skip" @click=${()=>this.renderRoot.querySelector(`main`)?.focus()}>Skip to the content</button>
      <header>
        <a class="brand" href=${R([])}>mooring</a>
        <nav aria-label="Views">
          <ul>
            ${Object.entries(ka).filter(([,{title:e}])=>e).map(([t,{title:n}])=>g`<li><a href=${R(t?[t]:[])} aria-current=${t===e?`page`:v}>${n}</a></li>`)}
          </ul>
        </nav>
        <div class="process row">${this.tools()} ${this.picker()}</div>
      </header>
      <main tabindex="-1">
        ${t?$e(this.route.query.get(`process`),t.render(this.route)):g`<h1>There is no such view</h1><p><a href=${R([])}>To the overview</a></p>`}
      </main>
      <mooring-search></mooring-search>
      <mooring-help></mooring-help>`}picker(){let{value:e=[],error:t}=this.processes;if(t)return g`<span class="bad" role="alert">✕ mooring web does not answer</span>`;let n=e.find(e=>e.name===this.route.query.get(`process`))??e[0];if(!n)return v;let r=n.state===`ok`?v:g`<span class="bad" role="alert" title=${n.message??``}>✕ unreachable</span>`;return e.length===1?g`${r} <span class="quiet" title=${n.address}>${n.name}</span>`:g`${r}
      <select aria-label="Process" @change=${e=>z({process:e.target.value})}>
        ${e.map(e=>g`<option value=${e.name} ?selected=${e===n}>${e.name}</option>`)}
      </select>`}tools(){return g`<button aria-keyshortcuts="/" title="Search (/)" @click=${this.openSearch}>Search <kbd aria-hidden="true">/</kbd></button>
      <button aria-keyshortcuts="?" aria-label="Help" title="Help (?)" @click=${()=>this.help.open()}>?</button>
      <select aria-label="Theme" title="Theme" @change=${e=>this.choose(e.target.value)}>
        ${Ta.map(e=>g`<option value=${e} ?selected=${e===this.theme}>${e}</option>`)}
      </select>`}choose(e){this.theme=e,Oa(e)}};D([w()],$.prototype,`route`,void 0),D([w()],$.prototype,`theme`,void 0),D([T(`mooring-search`)],$.prototype,`search`,void 0),D([T(`mooring-help`)],$.prototype,`help`,void 0),$=D([S(`mooring-page`)],$);function Aa({path:[,e],query:t}){return e?g`<mooring-decision-view .seq=${e}></mooring-decision-view>`:g`<mooring-decisions .query=${t}></mooring-decisions>`}function ja({path:[,e,t],query:n}){return e&&t?g`<mooring-pod .namespace=${e} .name=${t}></mooring-pod>`:g`<mooring-pods .query=${n}></mooring-pods>`}function Ma({path:[,e=``,t=``,n=``]}){return g`<mooring-owner .namespace=${e} .kind=${t} .name=${n}></mooring-owner>`}function Na({path:[,e],query:t}){return e?g`<mooring-node .name=${e}></mooring-node>`:g`<mooring-nodes .query=${t}></mooring-nodes>`}